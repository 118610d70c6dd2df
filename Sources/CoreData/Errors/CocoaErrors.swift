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
  FoundationErrors.error(for: error, code)
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
