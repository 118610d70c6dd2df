import Foundation

/// One version of a model as it lies in the file system.
///
/// A value; nothing is read but the names in a folder and the mark of the current version.
public struct ModelVersion: Sendable, Hashable {
  /// The version's name: that of its folder without `.xcdatamodel`.
  public let name: String
  /// The version's folder, or a bare `contents` file.
  public let url: URL
  /// Whether this is the version that is read when only the whole model is named.
  public let isCurrent: Bool

  /// All versions of a model in the order of their names, numbers in them counting as numbers: of an `.xcdatamodeld` folder those
  /// in it, of an `.xcdatamodel` folder or a `contents` file itself.
  ///
  /// - Throws: ``ModelError`` when there is no model at `url`, when it is a compiled one, when the mark of the current version
  ///   cannot be read or names a version that is not there.
  static func all(of url: URL) throws(ModelError) -> [ModelVersion] {
    let file = url.lastPathComponent
    switch url.pathExtension.lowercased() {
    case "mom", "momd", "omo":
      throw ModelError(
        "\(file): This is a compiled model; give the .xcdatamodeld or .xcdatamodel it was made of.")
    default: break
    }
    guard let kind = FileKind(url) else { throw ModelError("\(file): There is no such file or folder.") }
    guard kind == .folder else { return [ModelVersion(name: Self.name(of: url), url: url, isCurrent: true)] }
    if FileKind(url.appendingPathComponent(contentsName)) != nil {
      return [ModelVersion(name: Self.name(of: url), url: url, isCurrent: true)]
    }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: url.path) } catch {
      throw ModelError("\(file): The folder cannot be read: \(error.localizedDescription)")
    }
    let folders = names.filter { $0.hasSuffix(".xcdatamodel") && !$0.hasPrefix(".") }.sorted(by: precedes)
    guard let last = folders.last else {
      throw ModelError("\(file): The folder has neither a file “contents” nor a version (.xcdatamodel).")
    }
    let current = try markedVersion(in: url) ?? last
    guard folders.contains(current) else {
      throw ModelError("\(file): The current version “\(current.prefix(300))” is not in the folder.")
    }
    return folders.map {
      ModelVersion(
        name: String($0.dropLast(".xcdatamodel".count)), url: url.appendingPathComponent($0),
        isCurrent: $0 == current)
    }
  }

  /// The bytes of the version's description.
  ///
  /// - Throws: ``ModelError`` when it is no regular file, too long, or cannot be read.
  func contents() throws(ModelError) -> Data {
    guard FileKind(url) == .folder else {
      return try Self.read(url, fileName, atMost: XcodeDocument.maximumLength)
    }
    return try Self.read(
      url.appendingPathComponent(Self.contentsName), "\(fileName)/\(Self.contentsName)",
      atMost: XcodeDocument.maximumLength)
  }

  /// The version's file name, for messages.
  var fileName: String { url.lastPathComponent }

  private static let contentsName = "contents"

  private static func name(of url: URL) -> String {
    let name = url.lastPathComponent
    return name.hasSuffix(".xcdatamodel") ? String(name.dropLast(".xcdatamodel".count)) : name
  }

  /// “Shop 2” stands before “Shop 10”, “Shop” before both.
  private static func precedes(_ a: String, _ b: String) -> Bool {
    let (left, right) = (a.dropLast(".xcdatamodel".count), b.dropLast(".xcdatamodel".count))
    let order = String(left).compare(String(right), options: [.numeric, .caseInsensitive])
    return order == .orderedSame ? a < b : order == .orderedAscending
  }

  /// What the file `.xccurrentversion` names; nil when there is none.
  private static func markedVersion(in folder: URL) throws(ModelError) -> String? {
    let mark = folder.appendingPathComponent(".xccurrentversion")
    guard FileKind(mark) != nil else { return nil }
    let place = "\(folder.lastPathComponent)/.xccurrentversion"
    let data = try read(mark, place, atMost: 1 << 20)
    let plist = try? PropertyListSerialization.propertyList(from: data, format: nil)
    guard let name = (plist as? [String: Any])?["_XCCurrentVersionName"] as? String else {
      throw ModelError(
        "\(place): This is no property list with the key _XCCurrentVersionName.")
    }
    return name
  }

  /// - Parameter name: begins the sentences of errors.
  private static func read(
    _ file: URL, _ name: String, atMost limit: Int
  ) throws(ModelError) -> Data {
    guard FileKind(file) == .regular else {
      throw ModelError("\(name): There is no such file, or it is none.")
    }
    do {
      let handle = try FileHandle(forReadingFrom: file)
      defer { try? handle.close() }
      let data = try handle.read(upToCount: limit + 1) ?? Data()
      guard data.count <= limit else { throw ModelError("\(name): The file has more than \(limit) bytes.") }
      return data
    } catch let error as ModelError {
      throw error
    } catch {
      throw ModelError("\(name): The file cannot be read: \(error.localizedDescription)")
    }
  }
}

/// What lies at a path, symbolic links followed.
private enum FileKind {
  case folder, regular
  /// A pipe, a device or the like, which is never opened.
  case other

  /// Nil when nothing is there.
  init?(_ url: URL) {
    let path = url.resolvingSymlinksInPath().path
    guard let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
    else { return nil }
    self = type == .typeDirectory ? .folder : type == .typeRegular ? .regular : .other
  }
}
