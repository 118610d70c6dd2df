import Foundation

/// A whole model as JSON, the form in which a store keeps it.
enum ModelCoding {
  /// The most bytes that are decoded.
  static let maximumLength = 64 << 20

  /// The model with every property of its descriptions, as JSON with sorted keys.
  ///
  /// - Throws: `ModelError` when something in it has no codable form.
  static func encode(_ model: ManagedObjectModel) throws -> Data { try encode(ModelDocument(model)) }

  static func encode(_ document: ModelDocument) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return try encoder.encode(document)
  }

  /// Whether what a store has of its model is out of date, where `own` is the program's: parts that are no part of a version may be others by now, such as
  /// rules for deleting, default values and configurations. By what ``ModelDigest`` looks at.
  ///
  /// Nil when the document cannot be read, or is of another format: a later program may have written it.
  static func isStale(_ stored: Data, beside own: ModelDocument) -> Bool? {
    guard stored.count <= maximumLength,
      let old = try? BoundedJSON.decode(ModelDocument.self, from: stored), old.format == own.format
    else { return nil }
    return ModelDigest.of(old) != ModelDigest.of(own)
  }

  /// Builds the model again, changeable. Classes are found by name.
  ///
  /// - Throws: `ModelError` when the bytes are damaged, in whatever way.
  static func decode(_ data: Data) throws(ModelError) -> ManagedObjectModel {
    guard data.count <= maximumLength else { throw ModelError("The stored model is too long.") }
    let document: ModelDocument
    do {
      document = try BoundedJSON.decode(ModelDocument.self, from: data)
    } catch {
      throw ModelError("The stored model is damaged: \(error)")
    }
    return try document.makeModel()
  }
}

extension ManagedObjectModel {
  /// Leaves all entities without a class of their own.
  func forgetClasses() { for entity in entities { entity.managedObjectClass = nil } }
}
