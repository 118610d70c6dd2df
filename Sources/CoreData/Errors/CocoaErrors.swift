import Foundation
import StrataCore

/// Runs `body` and throws what it throws as Core Data would: as a `CocoaError`, which `as NSError`, `catch let error as NSError`,
/// `as? CocoaError` and `catch CocoaError.validationMissingMandatoryProperty` all understand. Errors that are not the
/// library's own, of validation methods for instance, pass as they are.
/// - Parameter code: the code for errors below Core Data's: of files, of models.
func cocoa<T>(_ code: CocoaError.Code = .coreData, _ body: () throws -> T) throws -> T {
  do { return try body() } catch { throw cocoa(error, code) }
}

/// An error as Core Data would throw it; see `cocoa(_:_:)`.
func cocoa(_ error: any Error, _ code: CocoaError.Code = .coreData) -> any Error {
  switch error {
  case let error as CoreDataError: return error.cocoaError
  case let error as StorageError:
    var info: [String: Any] = [
      NSLocalizedDescriptionKey: error.description, NSUnderlyingErrorKey: error as NSError,
    ]
    if !error.path.isEmpty {
      info[NSFilePathErrorKey] = error.path
      info[NSURLErrorKey] = URL(fileURLWithPath: error.path)
    }
    return CocoaError(fileCode(of: error) ?? code, userInfo: info)
  case is ModelError, is FetchError, is TextMatchError:
    return CocoaError(
      code, userInfo: [NSLocalizedDescriptionKey: "\(error)", NSUnderlyingErrorKey: error as NSError])
  default: return error
  }
}

/// Foundation's code for what is wrong with a file; nil for what is a matter of stores.
private func fileCode(of error: StorageError) -> CocoaError.Code? {
  switch error.kind {
  case .notADatabase:
    var isFolder: ObjCBool = false
    let exists = FileManager.default.fileExists(atPath: error.path, isDirectory: &isFolder)
    return exists && isFolder.boolValue ? .fileReadUnknown : .fileReadCorruptFile
  case .damaged, .truncated, .unsupportedFormat: return .fileReadCorruptFile
  // A folder that is missing keeps a file from being made.
  case .missing: return error.operation == "realpath" ? .fileWriteUnknown : .fileReadNoSuchFile
  case .permission:
    return FileManager.default.fileExists(atPath: error.path)
      && !FileManager.default.isReadableFile(atPath: error.path)
      ? .fileReadNoPermission : .fileWriteNoPermission
  case .readOnlyMedia: return .fileWriteVolumeReadOnly
  case .diskFull, .mapFull: return .fileWriteOutOfSpace
  default: return nil
  }
}

extension CocoaError {
  /// The object that is not valid.
  public var validationObject: Any? { userInfo[NSValidationObjectErrorKey] }
  /// The name of the property that is not valid.
  public var validationKey: String? { userInfo[NSValidationKeyErrorKey] as? String }
  /// The predicate that does not hold.
  public var validationPredicate: NSPredicate? { userInfo[NSValidationPredicateErrorKey] as? NSPredicate }
  /// The value that is not valid.
  public var validationValue: Any? { userInfo[NSValidationValueErrorKey] }
  /// The objects concerned.
  public var affectedObjects: [AnyObject]? { userInfo[NSAffectedObjectsErrorKey] as? [AnyObject] }
  /// The stores concerned.
  public var affectedStores: [AnyObject]? { userInfo[NSAffectedStoresErrorKey] as? [AnyObject] }
  /// The conflicts of a failed save.
  public var persistentStoreSaveConflicts: [NSMergeConflict]? {
    userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSMergeConflict]
  }
}
