import Foundation

/// What the edits of one file need to know of all files.
struct FolderFacts {
  /// The names of the classes that certainly inherit from `NSManagedObject`.
  private(set) var managedClasses: Set<String> = []
  /// The labels of the parameters of methods, by name; `_` for none. Each form once.
  private(set) var methods: [String: Set<[String]>] = [:]

  init(_ files: [[UInt8]]) {
    var parents: [String: String] = [:]
    for bytes in files {
      let declarations = SourceReader.read(bytes, file: "")
      for type in declarations.types where type.kind == .class {
        guard case .named(let path)? = type.inherited.first, let parent = path.last?.name else { continue }
        parents[type.name] = parent
      }
      note(Lexer.tokens(of: bytes))
    }
    for name in parents.keys {
      var next = name
      for _ in 0..<100 {
        guard let parent = parents[next] else { break }
        if parent == "NSManagedObject" {
          managedClasses.insert(name)
          break
        }
        next = parent
      }
    }
  }

  private mutating func note(_ tokens: [Token]) {
    for index in tokens.indices
    where tokens[index].is("func") && index + 2 < tokens.count && tokens[index + 1].isName {
      guard tokens[index + 2].is("(") else { continue }
      var labels: [String] = []
      var depth = 0
      for next in index + 2..<tokens.count {
        let token = tokens[next]
        if token.is("(") || token.is("[") || token.is("{") { depth += 1 }
        if token.is(")") || token.is("]") || token.is("}") { depth -= 1 }
        if depth == 0 { break }
        let isFirst =
          depth == 1 && (tokens[next - 1].is("(") && next == index + 3 || tokens[next - 1].is(","))
        if isFirst, token.isName { labels.append(token.text) }
      }
      methods[tokens[index + 1].text, default: []].insert(labels)
    }
  }
}

/// A folder of Swift sources written for Apple's Core Data: what `strata port-core-data` works on.
///
/// Reading it changes nothing; ``apply(_:)`` writes.
public struct SourceFolder {
  /// One file and what porting makes of it.
  public struct File {
    public let url: URL
    /// As it was read.
    public let original: Data
    public let ported: PortedSource
    /// Whether there is anything to write.
    public var isChanged: Bool { Data(ported.text.utf8) != original }
  }

  /// The files in the order of their paths.
  public let files: [File]
  /// Those that are no UTF-8 text, and stay as they are.
  public let unreadable: [URL]
  /// The models and mapping models among the sources.
  public let models: [URL]

  /// Reads the sources in `url`, a folder or one file. Hidden folders, `Pods`, `Carthage` and package manifests are left out.
  ///
  /// - Parameter keepsAttributes: Whether attributes of Objective-C stay for Apple's systems, in `#if canImport(ObjectiveC)`.
  /// - Throws: What prevents a file from being read.
  public init(_ url: URL, keepsAttributes: Bool = false) throws {
    let (sources, models) = try Self.contents(of: url)
    self.models = models
    var unreadable: [URL] = []
    var readable: [(URL, Data)] = []
    for source in sources {
      let data = try Data(contentsOf: source)
      if String(validating: data, as: UTF8.self) == nil {
        unreadable.append(source)
      } else {
        readable.append((source, data))
      }
    }
    self.unreadable = unreadable
    let facts = FolderFacts(readable.map { [UInt8]($0.1) })
    files = readable.map { url, data in
      File(
        url: url, original: data,
        ported: SourcePorter.port([UInt8](data), facts, keepsAttributes: keepsAttributes))
    }
  }

  private static func contents(of url: URL) throws -> (sources: [URL], models: [URL]) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw Refusal("there is nothing at \(url.path)")
    }
    guard isFolder.boolValue else { return ([url], []) }
    guard let paths = FileManager.default.enumerator(atPath: url.path) else {
      throw Refusal("\(url.path) cannot be read")
    }
    var sources: [URL] = []
    var models: [URL] = []
    for case let path as String in paths {
      let file = url.appendingPathComponent(path)
      let name = file.lastPathComponent
      if name.hasPrefix(".") || ["Pods", "Carthage", "DerivedData"].contains(name) {
        paths.skipDescendants()
      } else if ["xcdatamodeld", "xcdatamodel", "xcmappingmodel", "momd", "mom"].contains(file.pathExtension)
      {
        models.append(file)
        paths.skipDescendants()
      } else if file.pathExtension == "swift", name != "Package.swift" {
        sources.append(file)
      }
    }
    return (sources.sorted { $0.path < $1.path }, models.sorted { $0.path < $1.path })
  }

  /// Writes the file with its edits, if there are any and it is still as it was read. Its permissions stay.
  /// - Throws: ``Refusal`` for a file that has been changed meanwhile; what prevents it from being written.
  public static func apply(_ file: File) throws {
    guard file.isChanged else { return }
    guard try Data(contentsOf: file.url) == file.original else {
      throw Refusal("\(file.url.path) has been changed since it was read; nothing was written to it")
    }
    let permissions = try FileManager.default.attributesOfItem(atPath: file.url.path)[.posixPermissions]
    try Data(file.ported.text.utf8).write(to: file.url, options: .atomic)
    if let permissions {
      try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file.url.path)
    }
  }
}
