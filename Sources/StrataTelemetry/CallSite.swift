import Foundation

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

/// Reading the symbols of Swift.
enum Demangling {
  /// The module with the extension that a function is written in; nil when it is in none.
  static func extendingModule(_ mangled: String) -> String? {
    // Extensions have an E: most symbols need not be looked at.
    guard mangled.contains("E"), let text = demangled(mangled) else { return nil }
    var rest = text[...]
    // Outermost is what the function is in: behind what says that it is a closure of it, a part of it or made for it.
    for word in [" in ", " of ", " for "] {
      while let range = firstRange(of: word, in: rest) { rest = rest[range.upperBound...] }
    }
    for word in ["static ", "class "] where rest.hasPrefix(word) { rest = rest.dropFirst(word.count) }
    let mark = "(extension in "
    guard rest.hasPrefix(mark), let end = rest.firstIndex(of: ")") else { return nil }
    return String(rest[rest.index(rest.startIndex, offsetBy: mark.count)..<end])
  }

  /// The first place of `word` that is in no parentheses or angle brackets.
  private static func firstRange(of word: String, in text: Substring) -> Range<Substring.Index>? {
    var depth = 0
    var place = text.startIndex
    while place < text.endIndex {
      switch text[place] {
      case "(", "<", "[": depth += 1
      case ")", "]": depth -= 1
      // Not of an arrow.
      case ">" where place == text.startIndex || text[text.index(before: place)] != "-": depth -= 1
      case " " where depth == 0 && text[place...].hasPrefix(word):
        return place..<text.index(place, offsetBy: word.count)
      default: break
      }
      place = text.index(after: place)
    }
    return nil
  }

  private static func demangled(_ mangled: String) -> String? {
    guard let text = swiftDemangle(mangled, UInt(mangled.utf8.count), nil, nil, 0) else { return nil }
    defer { free(text) }
    return String(cString: text)
  }
}

/// The runtime's own, which no module declares.
@_silgen_name("swift_demangle")
private func swiftDemangle(
  _ name: UnsafePointer<CChar>, _ length: UInt, _ buffer: UnsafeMutablePointer<CChar>?,
  _ size: UnsafeMutablePointer<UInt>?, _ flags: UInt32
) -> UnsafeMutablePointer<CChar>?

/// The functions that were being called at one moment, by their return addresses.
///
/// `Backtrace.capture` is not asked: each time it looks into every file that is mapped, and ends the process when another thread closes a store just then. It also follows frame
/// pointers, which functions of the system need not have.
struct CapturedStack: Sendable {
  let returnAddresses: [UInt]

  init(_ returnAddresses: [UInt]) { self.returnAddresses = returnAddresses }

  /// The innermost function that is the program's and no accessor; the accessor if there is nothing else. Nil when it cannot be told. With the toolchain's module
  /// `Runtime`, of Swift 6.2 and later; other ones name no places.
  func callSite() -> CallSite? {
    #if os(Linux) && canImport(Runtime) && (arch(x86_64) || arch(arm64))
      let options: Backtrace.SymbolicationOptions = [
        .showInlineFrames, .showSourceLocations, .useSymbolCache,
      ]
      guard let backtrace = Self.backtrace(returnAddresses), let images = LoadedImages().map(),
        let frames = backtrace.symbolicated(with: images, options: options)?.frames
      else { return nil }
      return Self.callSite(
        frames.lazy.compactMap(\.symbol).map {
          Function(
            mangled: $0.rawName, name: $0.name, file: $0.sourceLocation?.path, line: $0.sourceLocation?.line)
        })
    #else
      return nil
    #endif
  }

  #if os(Linux) && canImport(Runtime) && (arch(x86_64) || arch(arm64))
    /// What a backtrace is encoded as, apart from its images.
    private struct Document: Encodable {
      let architecture: String
      let backtrace: String
    }

    /// A backtrace of these return addresses, as the module reads one that was encoded: it offers no other way to make one. Nil when it reads something else.
    static func backtrace(_ returnAddresses: [UInt]) -> Backtrace? {
      #if arch(x86_64)
        let architecture = "x86_64"
      #else
        let architecture = "arm64"
      #endif
      // Words of 64 bits; return addresses of eight bytes each, the highest first; an end.
      var bytes: [UInt8] = [0x02]
      for address in returnAddresses {
        bytes.append(0x2F)
        withUnsafeBytes(of: UInt64(address).bigEndian) { bytes += $0 }
      }
      bytes.append(0x00)
      let text = Data(bytes).base64EncodedString().filter { $0 != "=" }
      guard
        let data = try? JSONEncoder().encode(Document(architecture: architecture, backtrace: text)),
        let result = try? JSONDecoder().decode(Backtrace.self, from: data)
      else { return nil }
      let found = result.frames.compactMap { frame -> Backtrace.Address? in
        if case .returnAddress(let address) = frame { address } else { nil }
      }
      return found == returnAddresses.map { Backtrace.Address(UInt64($0)) } ? result : nil
    }
  #endif

  /// What is known of one frame.
  struct Function {
    var mangled: String
    var name: String
    var file: String?
    var line: Int?

    /// The module that it is written in, as the symbol says; nil for other languages and for most of the standard library's.
    var module: String? { Demangling.extendingModule(mangled) ?? firstModule }

    /// The first module of the symbol: of an extension it is that of the type.
    private var firstModule: String? {
      guard let start = ["$s", "_$s", "$S"].first(where: mangled.hasPrefix) else { return nil }
      let rest = mangled.dropFirst(start.count)
      let digits = rest.prefix { $0.isNumber }
      guard let length = Int(digits), length > 0 else { return nil }
      return String(rest.dropFirst(digits.count).prefix(length))
    }

    /// A closure in an accessor is none.
    var isAccessor: Bool {
      if name.hasPrefix("closure #") || name.hasPrefix("implicit closure #") { return false }
      return [".getter", ".setter", ".modify", ".read"].contains {
        name.hasSuffix($0) || name.hasSuffix($0 + "2")
      }
    }

    /// Whether it is written in the program, and not made by a macro or the compiler.
    var isOfProgram: Bool {
      if let module {
        if CapturedStack.library.contains(module) || CapturedStack.standardLibrary.contains(module) {
          return false
        }
      } else if !isC {
        return false
      }
      return !isMade
    }

    /// Whether a macro or the compiler has made it.
    var isMade: Bool {
      file.map { $0.contains("<compiler-generated>") || $0.contains("@__swiftmacro_") } ?? false
    }

    var isOfLibrary: Bool { module.map(CapturedStack.library.contains) ?? false }

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
  private static let standardLibrary: Set<String> = [
    "Swift", "_Concurrency", "_StringProcessing", "Synchronization",
  ]

  static func callSite(_ functions: some Sequence<Function>) -> CallSite? {
    var accessor: Function?
    // Only an accessor that reads for Strata is passed over: another one is a place of the program.
    var callsLibrary = true
    for function in functions {
      guard function.isOfProgram else {
        if !function.isMade { callsLibrary = function.isOfLibrary }
        continue
      }
      if function.isAccessor, callsLibrary, accessor == nil {
        accessor = function
        callsLibrary = false
        continue
      }
      return CallSite(
        function: function.name, file: function.file, line: function.line, property: accessor?.name)
    }
    return accessor.map { CallSite(function: $0.name, file: $0.file, line: $0.line) }
  }
}
