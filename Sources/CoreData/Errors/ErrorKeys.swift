import StrataCore

// Keys of the user info of errors.

/// The single errors, `[NSError]`, of `NSValidationMultipleErrorsError`.
public let NSDetailedErrorsKey = CoreDataError.Key.detailedErrors
/// The object that is not valid.
public let NSValidationObjectErrorKey = CoreDataError.Key.validationObject
/// The name of the property that is not valid.
public let NSValidationKeyErrorKey = CoreDataError.Key.validationKey
/// The predicate that does not hold.
public let NSValidationPredicateErrorKey = CoreDataError.Key.validationPredicate
/// The value that is not valid.
public let NSValidationValueErrorKey = CoreDataError.Key.validationValue
/// The stores concerned.
public let NSAffectedStoresErrorKey = CoreDataError.Key.affectedStores
/// The objects concerned.
public let NSAffectedObjectsErrorKey = CoreDataError.Key.affectedObjects
/// The conflicts, `[NSMergeConflict]`, of a save that failed because of them.
public let NSPersistentStoreSaveConflictsErrorKey = CoreDataError.Key.saveConflicts
