import Foundation

/// What is to be generated for one target: read from the tool's arguments, written to the files these name.
///
///     --module Name                the target's module
///     --output file.swift          where the accessors go
///     --source file.swift          one of the target's sources; any number
///     --dependency Name folder     a module the target depends on, and where its sources are; any number
///     --model folder file.swift    a model, and where its classes go; any number
public struct GeneratorOrder {
  private var module = ""
  private var output = ""
  private var sources: [String] = []
  private var dependencies: [(name: String, folder: String)] = []
  private var models: [(folder: String, output: String)] = []

  /// What the arguments ask for.
  /// - Throws: A sentence, for arguments that are none of these.
  public init(arguments: [String]) throws {
    var rest = arguments[...]
    func next(_ option: String) throws -> String {
      guard let value = rest.popFirst() else { throw Refusal("\(option) lacks a value") }
      return value
    }
    while let option = rest.popFirst() {
      switch option {
      case "--module": module = try next(option)
      case "--output": output = try next(option)
      case "--source": sources.append(try next(option))
      case "--dependency": dependencies.append((try next(option), try next(option)))
      case "--model": models.append((try next(option), try next(option)))
      default: throw Refusal("unknown argument “\(option)”")
      }
    }
    if module.isEmpty || output.isEmpty { throw Refusal("--module and --output are needed") }
  }

  /// Writes the files; returns what is wrong with the sources, in the form of compilers.
  ///
  /// A file that would not change is left as it is, so that nothing is compiled again.
  /// - Throws: What prevents a file from being read or written.
  public func carryOut() throws -> [String] {
    var problems: [Problem] = []
    var written: [(file: String, text: String)] = []
    var files: [SourceDeclarations] = []
    for model in models {
      let text = try ModelClasses(contentsOf: model.folder).text(module: module)
      written.append((model.output, text))
      var declarations = SourceReader.read(Array(text.utf8), file: model.output)
      // What is generated of a model is what the model has.
      declarations.keyed = []
      files.append(declarations)
    }
    let contents = try sources.map { ($0, try Data(contentsOf: URL(fileURLWithPath: $0))) }
    let names = Set(SharedNames.all)
    // Most targets that have no managed classes are done with one look for a word.
    let isManaged = contents.contains { Self.contains("@NSManaged", in: $0.1) }
    let hasClasses =
      isManaged || !models.isEmpty || contents.contains { Self.contains("NSManagedObject", in: $0.1) }
    for (file, bytes) in contents
    where hasClasses || SharedNames.all.contains(where: { Self.contains($0, in: bytes) }) {
      files.append(SourceReader.read([UInt8](bytes), file: file, lookingFor: names))
    }
    var text = SharedNames.text(for: files)
    if hasClasses {
      let target = AccessorGenerator.Target(
        module: module, files: files, otherModules: dependencies.map(\.name), load: load)
      var generator = AccessorGenerator(target)
      let accessors = isManaged ? generator.generate() : ""
      problems = generator.problems
      if !accessors.isEmpty { text += (text.isEmpty ? "" : "\n") + accessors }
      let keys = KeyTableGenerator(target).text()
      if !keys.isEmpty { text += (text.isEmpty ? "import CoreData\n" : "") + "\n" + keys }
    }
    if !problems.isEmpty {
      return problems.map { "\($0.place.file):\($0.place.line):\($0.place.column): error: \($0.message)" }
    }
    for (file, text) in written + [(output, GeneratedFile.whole(text))] {
      let data = Data(text.utf8)
      let url = URL(fileURLWithPath: file)
      if (try? Data(contentsOf: url)) == data { continue }
      try FileManager.default.createDirectory(
        at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try data.write(to: url, options: .atomic)
    }
    return []
  }

  /// Reads all sources of a module the target depends on.
  private func load(_ name: String) -> ModuleTable? {
    guard let folder = dependencies.first(where: { $0.name == name })?.folder,
      let paths = FileManager.default.enumerator(atPath: folder)
    else { return nil }
    var files: [SourceDeclarations] = []
    for case let path as String in paths where path.hasSuffix(".swift") {
      let file = folder + "/" + path
      guard let data = FileManager.default.contents(atPath: file) else { continue }
      files.append(SourceReader.read([UInt8](data), file: file))
    }
    return ModuleTable(name: name, files)
  }

  private static func contains(_ word: String, in data: Data) -> Bool {
    data.range(of: Data(word.utf8)) != nil
  }
}

/// A sentence that says why nothing can be done.
struct Refusal: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// What every generated file has around its code.
enum GeneratedFile {
  static func whole(_ text: String) -> String {
    let head = "// Generated when the target is built; changes are lost.\n"
    if text.isEmpty { return head }
    // Apple's systems have a Core Data that does this at run time.
    return head + "\n#if !canImport(ObjectiveC)\n" + text + "#endif\n"
  }
}
