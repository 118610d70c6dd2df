// Core Data's error codes, all in the domain `NSCocoaErrorDomain`.

/// `CocoaError.Code.managedObjectValidation`.
public let NSManagedObjectValidationError = 1550
/// `CocoaError.Code.managedObjectConstraintValidation`.
public let NSManagedObjectConstraintValidationError = 1551
/// `CocoaError.Code.validationMultipleErrors`.
public let NSValidationMultipleErrorsError = 1560
/// `CocoaError.Code.validationMissingMandatoryProperty`.
public let NSValidationMissingMandatoryPropertyError = 1570
/// `CocoaError.Code.validationRelationshipLacksMinimumCount`.
public let NSValidationRelationshipLacksMinimumCountError = 1580
/// `CocoaError.Code.validationRelationshipExceedsMaximumCount`.
public let NSValidationRelationshipExceedsMaximumCountError = 1590
/// `CocoaError.Code.validationRelationshipDeniedDelete`.
public let NSValidationRelationshipDeniedDeleteError = 1600
/// `CocoaError.Code.validationNumberTooLarge`.
public let NSValidationNumberTooLargeError = 1610
/// `CocoaError.Code.validationNumberTooSmall`.
public let NSValidationNumberTooSmallError = 1620
/// `CocoaError.Code.validationDateTooLate`.
public let NSValidationDateTooLateError = 1630
/// `CocoaError.Code.validationDateTooSoon`.
public let NSValidationDateTooSoonError = 1640
/// `CocoaError.Code.validationInvalidDate`.
public let NSValidationInvalidDateError = 1650
/// `CocoaError.Code.validationStringTooLong`.
public let NSValidationStringTooLongError = 1660
/// `CocoaError.Code.validationStringTooShort`.
public let NSValidationStringTooShortError = 1670
/// `CocoaError.Code.validationStringPatternMatching`.
public let NSValidationStringPatternMatchingError = 1680
/// `CocoaError.Code.validationInvalidURI`.
public let NSValidationInvalidURIError = 1690
/// `CocoaError.Code.managedObjectContextLocking`.
public let NSManagedObjectContextLockingError = 132_000
/// `CocoaError.Code.persistentStoreCoordinatorLocking`.
public let NSPersistentStoreCoordinatorLockingError = 132_010
/// `CocoaError.Code.managedObjectReferentialIntegrity`.
public let NSManagedObjectReferentialIntegrityError = 133_000
/// `CocoaError.Code.managedObjectExternalRelationship`.
public let NSManagedObjectExternalRelationshipError = 133_010
/// `CocoaError.Code.managedObjectMerge`.
public let NSManagedObjectMergeError = 133_020
/// `CocoaError.Code.managedObjectConstraintMerge`.
public let NSManagedObjectConstraintMergeError = 133_021
/// `CocoaError.Code.persistentStoreInvalidType`.
public let NSPersistentStoreInvalidTypeError = 134_000
/// `CocoaError.Code.persistentStoreTypeMismatch`.
public let NSPersistentStoreTypeMismatchError = 134_010
/// `CocoaError.Code.persistentStoreIncompatibleSchema`.
public let NSPersistentStoreIncompatibleSchemaError = 134_020
/// `CocoaError.Code.persistentStoreSave`.
public let NSPersistentStoreSaveError = 134_030
/// `CocoaError.Code.persistentStoreIncompleteSave`.
public let NSPersistentStoreIncompleteSaveError = 134_040
/// `CocoaError.Code.persistentStoreSaveConflicts`.
public let NSPersistentStoreSaveConflictsError = 134_050
/// `CocoaError.Code.coreData`.
public let NSCoreDataError = 134_060
/// `CocoaError.Code.persistentStoreOperation`.
public let NSPersistentStoreOperationError = 134_070
/// `CocoaError.Code.persistentStoreOpen`.
public let NSPersistentStoreOpenError = 134_080
/// `CocoaError.Code.persistentStoreTimeout`.
public let NSPersistentStoreTimeoutError = 134_090
/// `CocoaError.Code.persistentStoreUnsupportedRequestType`.
public let NSPersistentStoreUnsupportedRequestTypeError = 134_091
/// `CocoaError.Code.persistentStoreIncompatibleVersionHash`.
public let NSPersistentStoreIncompatibleVersionHashError = 134_100
/// `CocoaError.Code.migration`.
public let NSMigrationError = 134_110
/// `CocoaError.Code.migrationConstraintViolation`.
public let NSMigrationConstraintViolationError = 134_111
/// `CocoaError.Code.migrationCancelled`.
public let NSMigrationCancelledError = 134_120
/// `CocoaError.Code.migrationMissingSourceModel`.
public let NSMigrationMissingSourceModelError = 134_130
/// `CocoaError.Code.migrationMissingMappingModel`.
public let NSMigrationMissingMappingModelError = 134_140
/// `CocoaError.Code.migrationManagerSourceStore`.
public let NSMigrationManagerSourceStoreError = 134_150
/// `CocoaError.Code.migrationManagerDestinationStore`.
public let NSMigrationManagerDestinationStoreError = 134_160
/// `CocoaError.Code.entityMigrationPolicy`.
public let NSEntityMigrationPolicyError = 134_170
/// `CocoaError.Code.sqlite`.
public let NSSQLiteError = 134_180
/// The domain of SQLite's own codes in Core Data, and its key in the user info of errors. No error here has either: there is no SQLite below.
public let NSSQLiteErrorDomain = "NSSQLiteErrorDomain"
/// `CocoaError.Code.inferredMappingModel`.
public let NSInferredMappingModelError = 134_190
/// `CocoaError.Code.externalRecordImport`.
public let NSExternalRecordImportError = 134_200
/// A history token is older than the history, newer than the store, or of other stores.
public let NSPersistentHistoryTokenExpiredError = 134_301
/// `CocoaError.Code.managedObjectModelReferenceNotFound`.
public let NSManagedObjectModelReferenceNotFoundError = 134_504
/// `CocoaError.Code.stagedMigrationFrameworkVersionMismatch`.
public let NSStagedMigrationFrameworkVersionMismatchError = 134_505
/// `CocoaError.Code.stagedMigrationBackwardMigration`.
public let NSStagedMigrationBackwardMigrationError = 134_506
