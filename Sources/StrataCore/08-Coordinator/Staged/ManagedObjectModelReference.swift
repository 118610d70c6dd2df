import Foundation

/// A version of a model that is looked up when a migration needs it. Core Data's `NSManagedObjectModelReference`.
public final class ManagedObjectModelReference: NSObject, @unchecked Sendable {
  // @unchecked Sendable: constants; the closure is called by one migration at a time.

  /// The checksum that the model has (rule 315).
  public let versionChecksum: String
  private let find: () throws -> ManagedObjectModel?

  /// A model that is there already.
  public init(model: ManagedObjectModel, versionChecksum: String) {
    self.versionChecksum = versionChecksum
    find = { model }
  }

  /// A model that `find` looks up; nil when there is none.
  public init(versionChecksum: String, find: @escaping () throws -> ManagedObjectModel?) {
    self.versionChecksum = versionChecksum
    self.find = find
  }

  /// The model. Traps when it is not found or has another checksum; ``resolve()`` throws instead.
  public var resolvedModel: ManagedObjectModel {
    do { return try resolve() } catch { trap("a model reference cannot be resolved: \(error)") }
  }

  /// The model.
  /// - Throws: ``CoreDataError`` 134504 when it is not found or has another checksum.
  public func resolve() throws -> ManagedObjectModel {
    let model: ManagedObjectModel?
    do { model = try find() } catch {
      throw CoreDataError(
        .managedObjectModelReferenceNotFound,
        "The model with the checksum \(versionChecksum) cannot be read: \(error)",
        userInfo: [NSUnderlyingErrorKey: error])
    }
    guard let model else {
      throw CoreDataError(
        .managedObjectModelReferenceNotFound, "There is no model with the checksum \(versionChecksum).")
    }
    guard model.versionChecksum == versionChecksum else {
      throw CoreDataError(
        .managedObjectModelReferenceNotFound,
        "The model that was found has the checksum \(model.versionChecksum), not \(versionChecksum).")
    }
    return model
  }
}
