import Foundation
import StrataAppleSQLite
import StrataCore

/// A model that a command line names: of a store, of Xcode's files, or as JSON.
enum ModelSource {
  /// What the model is read from.
  static let help =
    "A store, one of Apple's too, an .xcdatamodeld or .xcdatamodel, or a file of JSON as “strata schema --json” writes it."

  static func model(_ path: String) throws -> ManagedObjectModel {
    if StorePath.address(path) != nil { return try StorePath.model(path) }
    let url = StorePath.resolved(path)
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder) else {
      throw Failure(.missing, "There is no file \(path).")
    }
    let isCompiled = ["mom", "momd", "omo"].contains(url.pathExtension.lowercased())
    if isFolder.boolValue || isCompiled || url.pathExtension.lowercased() == "xcdatamodel" {
      return try ManagedObjectModel(contentsOf: url)
    }
    var status = stat()
    if stat(url.path, &status) == 0, status.st_mode & S_IFMT != S_IFREG {
      throw Failure(.notAStore, "\(path) is neither a file nor a folder, and can hold no model.")
    }
    let handle: FileHandle
    do { handle = try FileHandle(forReadingFrom: url) } catch {
      let code = access(url.path, R_OK) == 0 ? 0 : errno
      let reason = code == 0 ? error.localizedDescription : String(cString: strerror(code))
      throw Failure(code == EACCES ? .permission : .other, "\(path) cannot be read: \(reason).")
    }
    defer { try? handle.close() }
    let start = try handle.read(upToCount: 64) ?? Data()
    // White space, then what the text of a model begins with.
    switch start.first(where: { ![0x20, 0x0A, 0x0D, 0x09].contains($0) }) {
    case UInt8(ascii: "{"): return try json(try Data(contentsOf: url), path)
    case UInt8(ascii: "<"): return try ManagedObjectModel(contentsOf: url)
    case UInt8(ascii: "S") where start.starts(with: Array("SQLite format 3\0".utf8)):
      return try AppleSQLite.model(at: url)
    default: return try LMDBStore.model(at: url)
    }
  }

  static func json(_ data: Data, _ name: String) throws -> ManagedObjectModel {
    do {
      let model = try ManagedObjectModel.decoded(fromStores: data)
      for entity in model.entities { entity.managedObjectClass = nil }
      return model
    } catch let error as ModelError {
      throw Failure(.model, "\(name) is no model: \(error.description)")
    }
  }
}

extension EntityDescription {
  /// The properties that the entity declares itself, in order.
  var declaredProperties: [PropertyDescription] {
    let inherited = Set((superentity?.properties ?? []).map { ObjectIdentifier($0) })
    return properties.filter { !inherited.contains(ObjectIdentifier($0)) }
  }

  /// The name; models that are in use have one for each entity.
  var title: String { name ?? "" }
}

extension AttributeType {
  /// The type in Xcode's files.
  var xcodeName: String {
    switch self {
    case .undefined: "Undefined"
    case .integer16: "Integer 16"
    case .integer32: "Integer 32"
    case .integer64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binaryData: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .objectID: "ObjectID"
    case .composite: "Composite"
    }
  }
}
