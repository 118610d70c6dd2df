import Foundation

/// What the edits of one file need to know of all files.
struct FolderFacts {
  /// The names of the classes that certainly inherit from `NSManagedObject`.
  private(set) var managedClasses: Set<String> = []
  /// The names of all types.
  private(set) var types: Set<String> = []
  /// The parameters of methods, by name. Each form once.
  private(set) var methods: [String: Set<[Parameter]>] = [:]
  /// The names that properties have in models and to Objective-C, by the property's name and the class's.
  private var keys: [String: [String: String]] = [:]

  /// A parameter of a method.
  struct Parameter: Hashable {
    /// `_` for none.
    let label: String
    /// Its last name, without what makes it an optional.
    let type: String
  }

  init(_ files: [[UInt8]]) {
    var parents: [String: String] = [:]
    for bytes in files {
      let declarations = SourceReader.read(bytes, file: "")
      types.formUnion(declarations.types.map(\.name))
      for type in declarations.types where type.kind == .class {
        guard case .named(let path)? = type.inherited.first, let parent = path.last?.name else { continue }
        parents[type.name] = parent
      }
      noteKeys(declarations)
      methods.merge(Self.methods(in: Lexer.tokens(of: bytes))) { $0.union($1) }
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

  private mutating func noteKeys(_ declarations: SourceDeclarations) {
    for property in declarations.keyed where property.kind == .property {
      keys[property.name, default: [:]][property.scope.path.last ?? ""] = property.name
    }
    for property in declarations.properties {
      let name = property.objectiveCName ?? property.name
      keys[property.name, default: [:]][property.scope.path.last ?? ""] = name
    }
    for hint in declarations.keyHints {
      keys[hint.property, default: [:]][hint.owner.last ?? ""] = hint.key
    }
  }

  /// What a property is called in the model, of a class if it is known which; nil when classes differ in that.
  func key(of property: String, in type: String?) -> String? {
    guard let known = keys[property] else { return property }
    if let type {
      if let key = known[type] { return key }
      // Nothing is known of the properties of a class of somebody else's.
      if !types.contains(type) { return property }
    }
    let names = Set(known.values)
    return names.count == 1 ? names.first : nil
  }

  static func methods(in tokens: [Token]) -> [String: Set<[Parameter]>] {
    var methods: [String: Set<[Parameter]>] = [:]
    for index in tokens.indices
    where tokens[index].is("func") && index + 2 < tokens.count && tokens[index + 1].isName
      && tokens[index + 2].is("(")
    {
      methods[tokens[index + 1].text, default: []].insert(parameters(tokens, index + 2))
    }
    return methods
  }

  private static func parameters(_ tokens: [Token], _ open: Int) -> [Parameter] {
    var result: [Parameter] = []
    var (depth, start) = (0, open + 1)
    for index in open..<tokens.count {
      let token = tokens[index]
      if ["(", "[", "{", "<"].contains(where: token.is) { depth += 1 }
      if [")", "]", "}"].contains(where: token.is) || token.is(">") && !tokens[index - 1].is("-") {
        depth -= 1
      }
      guard depth == 0 || depth == 1 && token.is(",") else { continue }
      if start < index, tokens[start].isName {
        let type = tokens[start..<index].drop { !$0.is(":") }.prefix { !$0.is("=") }
        result.append(Parameter(label: tokens[start].text, type: type.last(where: \.isName)?.text ?? ""))
      }
      if depth == 0 { break }
      start = index + 1
    }
    return result
  }
}

/// A folder of Swift sources written for Apple's Core Data: what `strata port-core-data` works on.
///
/// Reading it changes nothing; ``apply(_:)`` writes.
public struct SourceFolder {
  /// One file and what porting makes of it.
  public struct File {
    public let url: URL
    /// The file itself where `url` is a link.
    let target: URL
    /// As it was read.
    public let original: Data
    public let ported: PortedSource
    /// Whether there is anything to write.
    public var isChanged: Bool { Data(ported.text.utf8) != original }
  }

  /// A file that cannot be read or written.
  public struct FileError: Error, CustomStringConvertible {
    public let url: URL
    public let description: String
    /// What Foundation says of it; nil where that is not the reason.
    public let cause: (any Error)?

    init(_ url: URL, _ reason: String, _ cause: (any Error)? = nil) {
      self.url = url
      self.cause = cause
      description = "\(url.path) \(reason)" + (cause.map { ": \($0.localizedDescription)" } ?? "")
    }
  }

  /// The files in the order of their paths.
  public let files: [File]
  /// Those that are no UTF-8 text, and stay as they are.
  public let unreadable: [URL]
  /// Links that lead nowhere.
  public let dangling: [URL]
  /// The models and mapping models among the sources.
  public let models: [URL]

  /// Reads the sources in `url`, a folder or one file. Hidden folders, `Pods`, `Carthage` and package manifests are left out. A file that
  /// links lead to is read once.
  ///
  /// - Parameter keepsAttributes: Whether attributes of Objective-C stay for Apple's systems, in `#if canImport(ObjectiveC)`.
  /// - Throws: ``FileError`` with the name of the file that cannot be read, or where there is nothing.
  public init(_ url: URL, keepsAttributes: Bool = false) throws {
    let (sources, models) = try Self.contents(of: url)
    self.models = models
    var unreadable: [URL] = []
    var dangling: [URL] = []
    var readable: [(url: URL, target: URL, data: Data)] = []
    var known: Set<String> = []
    // A file itself comes before links to it: that is its name.
    for (source, target) in sources.map({ ($0, $0.resolvingSymlinksInPath()) })
      .sorted(by: {
        ($0.0.path != $0.1.path ? 1 : 0, $0.0.path) < ($1.0.path != $1.1.path ? 1 : 0, $1.0.path)
      })
    {
      guard FileManager.default.fileExists(atPath: target.path) else {
        dangling.append(source)
        continue
      }
      guard known.insert(target.path).inserted else { continue }
      let data: Data
      do { data = try Data(contentsOf: target) } catch {
        throw FileError(source, "cannot be read", error)
      }
      if String(validating: data, as: UTF8.self) == nil {
        unreadable.append(source)
      } else {
        readable.append((source, target, data))
      }
    }
    self.unreadable = unreadable
    self.dangling = dangling
    let facts = FolderFacts(readable.map { [UInt8]($0.data) })
    files = readable.sorted { $0.url.path < $1.url.path }.map { url, target, data in
      File(
        url: url, target: target, original: data,
        ported: SourcePorter.port([UInt8](data), facts, keepsAttributes: keepsAttributes))
    }
  }

  private static func contents(of url: URL) throws -> (sources: [URL], models: [URL]) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw FileError(url, "does not exist")
    }
    guard isFolder.boolValue else { return ([url], []) }
    guard let paths = FileManager.default.enumerator(atPath: url.path) else {
      throw FileError(url, "cannot be read")
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
      } else if file.pathExtension == "swift", name != "Package.swift", !Self.isFolder(file) {
        sources.append(file)
      }
    }
    return (sources.sorted { $0.path < $1.path }, models.sorted { $0.path < $1.path })
  }

  private static func isFolder(_ url: URL) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) && isFolder.boolValue
  }

  /// Writes the file with its edits, if there are any and it is still as it was read. Its permissions stay; a link stays one, and the file
  /// that it leads to is written.
  /// - Throws: ``FileError`` with the file's name: it has been changed meanwhile, is write-protected, or cannot be written. It is as it was then.
  public static func apply(_ file: File) throws {
    guard file.isChanged else { return }
    let path = file.target.path
    do {
      guard try Data(contentsOf: file.target) == file.original else {
        throw FileError(file.url, "has been changed since it was read; nothing was written to it")
      }
      let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber
      if let permissions, permissions.intValue & 0o222 == 0 {
        throw FileError(file.url, "is write-protected; nothing was written to it")
      }
      try Data(file.ported.text.utf8).write(to: file.target, options: .atomic)
      if let permissions {
        try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: path)
      }
    } catch let error as FileError {
      throw error
    } catch {
      throw FileError(file.url, "cannot be written", error)
    }
  }
}
