#if os(Linux) && canImport(Runtime)
  import Runtime
#endif

/// A place of the program that called into Strata.
struct CallSite: Sendable, Hashable, CustomStringConvertible {
  /// The function.
  var function: String
  /// The source file, where debug information has it.
  var file: String?
  /// The line, where debug information has it.
  var line: Int?
  /// The accessor in between through which the function read, if there was one.
  var property: String?

  var description: String {
    guard let file, let line else { return function }
    return "\(file):\(line) (\(function))"
  }
}

/// The functions that were being called at one moment.
struct CapturedStack: Sendable {
  #if os(Linux) && canImport(Runtime)
    private let backtrace: Backtrace?
  #endif

  /// Looks at the functions that call now. With the toolchain's module `Runtime`, of Swift 6.2 and later; other ones name no places.
  init(_ returnAddresses: [UInt]) {
    #if os(Linux) && canImport(Runtime)
      backtrace = try? Backtrace.capture(limit: returnAddresses.count + 8, top: 0)
    #endif
  }

  /// The innermost function that is the program's and no accessor; the accessor if there is nothing else. Nil when it cannot be told.
  func callSite() -> CallSite? {
    #if os(Linux) && canImport(Runtime)
      let options: Backtrace.SymbolicationOptions = [
        .showInlineFrames, .showSourceLocations, .useSymbolCache,
      ]
      guard let frames = backtrace?.symbolicated(options: options)?.frames else { return nil }
      return Self.callSite(
        frames.lazy.compactMap(\.symbol).map {
          Function(
            mangled: $0.rawName, name: $0.name, file: $0.sourceLocation?.path, line: $0.sourceLocation?.line)
        })
    #else
      return nil
    #endif
  }

  /// What is known of one frame.
  struct Function {
    var mangled: String
    var name: String
    var file: String?
    var line: Int?

    /// The module that the symbol says it belongs to; nil for other languages and for the standard library's.
    var module: String? {
      guard let start = ["$s", "_$s", "$S"].first(where: mangled.hasPrefix) else { return nil }
      let rest = mangled.dropFirst(start.count)
      let digits = rest.prefix { $0.isNumber }
      guard let length = Int(digits), length > 0 else { return nil }
      return String(rest.dropFirst(digits.count).prefix(length))
    }

    var isAccessor: Bool {
      [".getter", ".setter", ".modify", ".read"].contains { name.hasSuffix($0) || name.hasSuffix($0 + "2") }
    }

    /// Whether it is written in the program, and not made by a macro or the compiler.
    var isOfProgram: Bool {
      if let module {
        if CapturedStack.library.contains(module) { return false }
      } else if !isC {
        return false
      }
      return file.map { !$0.contains("<compiler-generated>") && !$0.contains("@__swiftmacro_") } ?? true
    }

    /// The body of a program is a C function by name.
    private var isC: Bool { mangled == "main" }
  }

  /// The modules whose functions are no places of the program.
  private static let library: Set<String> = [
    "StrataCore", "Strata", "StrataModels", "StrataPostgres", "StrataAppleSQLite", "StrataTelemetry",
    "CoreData",
    "CoreDataCombine", "SwiftData", "Foundation", "FoundationEssentials", "Dispatch", "Observation",
    "OpenCombine",
  ]

  static func callSite(_ functions: some Sequence<Function>) -> CallSite? {
    var accessor: Function?
    for function in functions where function.isOfProgram {
      if function.isAccessor {
        accessor = accessor ?? function
        continue
      }
      return CallSite(
        function: function.name, file: function.file, line: function.line, property: accessor?.name)
    }
    return accessor.map { CallSite(function: $0.name, file: $0.file, line: $0.line) }
  }
}
