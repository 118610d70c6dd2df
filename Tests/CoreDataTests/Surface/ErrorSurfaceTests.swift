import CoreData
import Foundation
import Testing

// Errors by name: every code, in each of its spellings, has the number of its global constant.

@Suite("Names of errors")
struct ErrorSurface {
  @Test("The constants, the codes and the names of errors agree")
  func names() {
    // surface: NSCoreDataError | NSEntityMigrationPolicyError | NSExternalRecordImportError | NSInferredMappingModelError
    // surface: NSManagedObjectConstraintMergeError | NSManagedObjectConstraintValidationError
    // surface: NSManagedObjectContextLockingError | NSManagedObjectExternalRelationshipError | NSManagedObjectMergeError
    // surface: NSManagedObjectModelReferenceNotFoundError | NSManagedObjectReferentialIntegrityError
    // surface: NSManagedObjectValidationError | NSMigrationCancelledError | NSMigrationConstraintViolationError
    // surface: NSMigrationError | NSMigrationManagerDestinationStoreError | NSMigrationManagerSourceStoreError
    // surface: NSMigrationMissingMappingModelError | NSMigrationMissingSourceModelError
    // surface: NSPersistentHistoryTokenExpiredError | NSPersistentStoreCoordinatorLockingError
    // surface: NSPersistentStoreIncompatibleSchemaError | NSPersistentStoreIncompatibleVersionHashError
    // surface: NSPersistentStoreIncompleteSaveError | NSPersistentStoreInvalidTypeError | NSPersistentStoreOpenError
    // surface: NSPersistentStoreOperationError | NSPersistentStoreSaveConflictsError | NSPersistentStoreSaveError
    // surface: NSPersistentStoreTimeoutError | NSPersistentStoreTypeMismatchError
    // surface: NSPersistentStoreUnsupportedRequestTypeError | NSSQLiteError | NSStagedMigrationBackwardMigrationError
    // surface: NSStagedMigrationFrameworkVersionMismatchError | NSValidationDateTooLateError | NSValidationDateTooSoonError
    // surface: NSValidationInvalidDateError | NSValidationInvalidURIError | NSValidationMissingMandatoryPropertyError
    // surface: NSValidationMultipleErrorsError | NSValidationNumberTooLargeError | NSValidationNumberTooSmallError
    // surface: NSValidationRelationshipDeniedDeleteError | NSValidationRelationshipExceedsMaximumCountError
    // surface: NSValidationRelationshipLacksMinimumCountError | NSValidationStringPatternMatchingError
    // surface: NSValidationStringTooLongError | NSValidationStringTooShortError
    let numbers: Set<Int> = [
      NSCoreDataError, NSEntityMigrationPolicyError, NSExternalRecordImportError,
      NSInferredMappingModelError, NSManagedObjectConstraintMergeError,
      NSManagedObjectConstraintValidationError, NSManagedObjectContextLockingError,
      NSManagedObjectExternalRelationshipError, NSManagedObjectMergeError,
      NSManagedObjectModelReferenceNotFoundError, NSManagedObjectReferentialIntegrityError,
      NSManagedObjectValidationError, NSMigrationCancelledError, NSMigrationConstraintViolationError,
      NSMigrationError, NSMigrationManagerDestinationStoreError, NSMigrationManagerSourceStoreError,
      NSMigrationMissingMappingModelError, NSMigrationMissingSourceModelError,
      NSPersistentHistoryTokenExpiredError, NSPersistentStoreCoordinatorLockingError,
      NSPersistentStoreIncompatibleSchemaError, NSPersistentStoreIncompatibleVersionHashError,
      NSPersistentStoreIncompleteSaveError, NSPersistentStoreInvalidTypeError, NSPersistentStoreOpenError,
      NSPersistentStoreOperationError, NSPersistentStoreSaveConflictsError, NSPersistentStoreSaveError,
      NSPersistentStoreTimeoutError, NSPersistentStoreTypeMismatchError,
      NSPersistentStoreUnsupportedRequestTypeError, NSSQLiteError, NSStagedMigrationBackwardMigrationError,
      NSStagedMigrationFrameworkVersionMismatchError, NSValidationDateTooLateError,
      NSValidationDateTooSoonError, NSValidationInvalidDateError, NSValidationInvalidURIError,
      NSValidationMissingMandatoryPropertyError, NSValidationMultipleErrorsError,
      NSValidationNumberTooLargeError, NSValidationNumberTooSmallError,
      NSValidationRelationshipDeniedDeleteError, NSValidationRelationshipExceedsMaximumCountError,
      NSValidationRelationshipLacksMinimumCountError, NSValidationStringPatternMatchingError,
      NSValidationStringTooLongError, NSValidationStringTooShortError,
    ]
    #expect(numbers.count == 49)
    // surface: CocoaError.Code.coreData | CocoaError.Code.coreDataError | CocoaError.Code.entityMigrationPolicy
    // surface: CocoaError.Code.entityMigrationPolicyError | CocoaError.Code.externalRecordImport
    // surface: CocoaError.Code.externalRecordImportError | CocoaError.Code.inferredMappingModel
    // surface: CocoaError.Code.inferredMappingModelError | CocoaError.Code.managedObjectConstraintMerge
    // surface: CocoaError.Code.managedObjectConstraintMergeError | CocoaError.Code.managedObjectContextLocking
    // surface: CocoaError.Code.managedObjectContextLockingError | CocoaError.Code.managedObjectExternalRelationship
    // surface: CocoaError.Code.managedObjectExternalRelationshipError | CocoaError.Code.managedObjectMerge
    // surface: CocoaError.Code.managedObjectMergeError | CocoaError.Code.managedObjectReferentialIntegrity
    // surface: CocoaError.Code.managedObjectReferentialIntegrityError | CocoaError.Code.managedObjectValidation
    // surface: CocoaError.Code.managedObjectValidationError | CocoaError.Code.migration | CocoaError.Code.migrationCancelled
    // surface: CocoaError.Code.migrationCancelledError | CocoaError.Code.migrationError
    // surface: CocoaError.Code.migrationManagerDestinationStore | CocoaError.Code.migrationManagerDestinationStoreError
    // surface: CocoaError.Code.migrationManagerSourceStore | CocoaError.Code.migrationManagerSourceStoreError
    // surface: CocoaError.Code.migrationMissingMappingModel | CocoaError.Code.migrationMissingMappingModelError
    // surface: CocoaError.Code.migrationMissingSourceModel | CocoaError.Code.migrationMissingSourceModelError
    // surface: CocoaError.Code.persistentStoreCoordinatorLocking | CocoaError.Code.persistentStoreCoordinatorLockingError
    // surface: CocoaError.Code.persistentStoreIncompatibleSchema | CocoaError.Code.persistentStoreIncompatibleSchemaError
    // surface: CocoaError.Code.persistentStoreIncompatibleVersionHash
    // surface: CocoaError.Code.persistentStoreIncompatibleVersionHashError | CocoaError.Code.persistentStoreIncompleteSave
    // surface: CocoaError.Code.persistentStoreIncompleteSaveError | CocoaError.Code.persistentStoreInvalidType
    // surface: CocoaError.Code.persistentStoreInvalidTypeError | CocoaError.Code.persistentStoreOpen
    // surface: CocoaError.Code.persistentStoreOpenError | CocoaError.Code.persistentStoreOperation
    // surface: CocoaError.Code.persistentStoreOperationError | CocoaError.Code.persistentStoreSave
    // surface: CocoaError.Code.persistentStoreSaveConflicts | CocoaError.Code.persistentStoreSaveConflictsError
    // surface: CocoaError.Code.persistentStoreSaveError | CocoaError.Code.persistentStoreTimeout
    // surface: CocoaError.Code.persistentStoreTimeoutError | CocoaError.Code.persistentStoreTypeMismatch
    // surface: CocoaError.Code.persistentStoreTypeMismatchError | CocoaError.Code.persistentStoreUnsupportedRequestType
    // surface: CocoaError.Code.persistentStoreUnsupportedRequestTypeError | CocoaError.Code.sqlite
    // surface: CocoaError.Code.sqliteError | CocoaError.Code.validationDateTooLate
    // surface: CocoaError.Code.validationDateTooLateError | CocoaError.Code.validationDateTooSoon
    // surface: CocoaError.Code.validationDateTooSoonError | CocoaError.Code.validationInvalidDate
    // surface: CocoaError.Code.validationInvalidDateError | CocoaError.Code.validationMissingMandatoryProperty
    // surface: CocoaError.Code.validationMissingMandatoryPropertyError | CocoaError.Code.validationMultipleErrors
    // surface: CocoaError.Code.validationMultipleErrorsError | CocoaError.Code.validationNumberTooLarge
    // surface: CocoaError.Code.validationNumberTooLargeError | CocoaError.Code.validationNumberTooSmall
    // surface: CocoaError.Code.validationNumberTooSmallError | CocoaError.Code.validationRelationshipDeniedDelete
    // surface: CocoaError.Code.validationRelationshipDeniedDeleteError
    // surface: CocoaError.Code.validationRelationshipExceedsMaximumCount
    // surface: CocoaError.Code.validationRelationshipExceedsMaximumCountError
    // surface: CocoaError.Code.validationRelationshipLacksMinimumCount
    // surface: CocoaError.Code.validationRelationshipLacksMinimumCountError | CocoaError.Code.validationStringPatternMatching
    // surface: CocoaError.Code.validationStringPatternMatchingError | CocoaError.Code.validationStringTooLong
    // surface: CocoaError.Code.validationStringTooLongError | CocoaError.Code.validationStringTooShort
    // surface: CocoaError.Code.validationStringTooShortError
    let codes: [CocoaError.Code] = [
      .coreData, .coreDataError, .entityMigrationPolicy, .entityMigrationPolicyError, .externalRecordImport,
      .externalRecordImportError, .inferredMappingModel, .inferredMappingModelError,
      .managedObjectConstraintMerge, .managedObjectConstraintMergeError, .managedObjectContextLocking,
      .managedObjectContextLockingError, .managedObjectExternalRelationship,
      .managedObjectExternalRelationshipError, .managedObjectMerge, .managedObjectMergeError,
      .managedObjectReferentialIntegrity, .managedObjectReferentialIntegrityError, .managedObjectValidation,
      .managedObjectValidationError, .migration, .migrationCancelled, .migrationCancelledError,
      .migrationError, .migrationManagerDestinationStore, .migrationManagerDestinationStoreError,
      .migrationManagerSourceStore, .migrationManagerSourceStoreError, .migrationMissingMappingModel,
      .migrationMissingMappingModelError, .migrationMissingSourceModel, .migrationMissingSourceModelError,
      .persistentStoreCoordinatorLocking, .persistentStoreCoordinatorLockingError,
      .persistentStoreIncompatibleSchema, .persistentStoreIncompatibleSchemaError,
      .persistentStoreIncompatibleVersionHash, .persistentStoreIncompatibleVersionHashError,
      .persistentStoreIncompleteSave, .persistentStoreIncompleteSaveError, .persistentStoreInvalidType,
      .persistentStoreInvalidTypeError, .persistentStoreOpen, .persistentStoreOpenError,
      .persistentStoreOperation, .persistentStoreOperationError, .persistentStoreSave,
      .persistentStoreSaveConflicts, .persistentStoreSaveConflictsError, .persistentStoreSaveError,
      .persistentStoreTimeout, .persistentStoreTimeoutError, .persistentStoreTypeMismatch,
      .persistentStoreTypeMismatchError, .persistentStoreUnsupportedRequestType,
      .persistentStoreUnsupportedRequestTypeError, .sqlite, .sqliteError, .validationDateTooLate,
      .validationDateTooLateError, .validationDateTooSoon, .validationDateTooSoonError,
      .validationInvalidDate, .validationInvalidDateError, .validationMissingMandatoryProperty,
      .validationMissingMandatoryPropertyError, .validationMultipleErrors, .validationMultipleErrorsError,
      .validationNumberTooLarge, .validationNumberTooLargeError, .validationNumberTooSmall,
      .validationNumberTooSmallError, .validationRelationshipDeniedDelete,
      .validationRelationshipDeniedDeleteError, .validationRelationshipExceedsMaximumCount,
      .validationRelationshipExceedsMaximumCountError, .validationRelationshipLacksMinimumCount,
      .validationRelationshipLacksMinimumCountError, .validationStringPatternMatching,
      .validationStringPatternMatchingError, .validationStringTooLong, .validationStringTooLongError,
      .validationStringTooShort, .validationStringTooShortError,
    ]
    // surface: CocoaError.coreData | CocoaError.coreDataError | CocoaError.entityMigrationPolicy
    // surface: CocoaError.entityMigrationPolicyError | CocoaError.externalRecordImport | CocoaError.externalRecordImportError
    // surface: CocoaError.inferredMappingModel | CocoaError.inferredMappingModelError
    // surface: CocoaError.managedObjectConstraintMerge | CocoaError.managedObjectConstraintMergeError
    // surface: CocoaError.managedObjectContextLocking | CocoaError.managedObjectContextLockingError
    // surface: CocoaError.managedObjectExternalRelationship | CocoaError.managedObjectExternalRelationshipError
    // surface: CocoaError.managedObjectMerge | CocoaError.managedObjectMergeError
    // surface: CocoaError.managedObjectReferentialIntegrity | CocoaError.managedObjectReferentialIntegrityError
    // surface: CocoaError.managedObjectValidation | CocoaError.managedObjectValidationError | CocoaError.migration
    // surface: CocoaError.migrationCancelled | CocoaError.migrationCancelledError | CocoaError.migrationError
    // surface: CocoaError.migrationManagerDestinationStore | CocoaError.migrationManagerDestinationStoreError
    // surface: CocoaError.migrationManagerSourceStore | CocoaError.migrationManagerSourceStoreError
    // surface: CocoaError.migrationMissingMappingModel | CocoaError.migrationMissingMappingModelError
    // surface: CocoaError.migrationMissingSourceModel | CocoaError.migrationMissingSourceModelError
    // surface: CocoaError.persistentStoreCoordinatorLocking | CocoaError.persistentStoreCoordinatorLockingError
    // surface: CocoaError.persistentStoreIncompatibleSchema | CocoaError.persistentStoreIncompatibleSchemaError
    // surface: CocoaError.persistentStoreIncompatibleVersionHash | CocoaError.persistentStoreIncompatibleVersionHashError
    // surface: CocoaError.persistentStoreIncompleteSave | CocoaError.persistentStoreIncompleteSaveError
    // surface: CocoaError.persistentStoreInvalidType | CocoaError.persistentStoreInvalidTypeError
    // surface: CocoaError.persistentStoreOpen | CocoaError.persistentStoreOpenError | CocoaError.persistentStoreOperation
    // surface: CocoaError.persistentStoreOperationError | CocoaError.persistentStoreSave
    // surface: CocoaError.persistentStoreSaveConflicts | CocoaError.persistentStoreSaveConflictsError
    // surface: CocoaError.persistentStoreSaveError | CocoaError.persistentStoreTimeout
    // surface: CocoaError.persistentStoreTimeoutError | CocoaError.persistentStoreTypeMismatch
    // surface: CocoaError.persistentStoreTypeMismatchError | CocoaError.persistentStoreUnsupportedRequestType
    // surface: CocoaError.persistentStoreUnsupportedRequestTypeError | CocoaError.sqlite | CocoaError.sqliteError
    // surface: CocoaError.validationDateTooLate | CocoaError.validationDateTooLateError | CocoaError.validationDateTooSoon
    // surface: CocoaError.validationDateTooSoonError | CocoaError.validationInvalidDate
    // surface: CocoaError.validationInvalidDateError | CocoaError.validationMissingMandatoryProperty
    // surface: CocoaError.validationMissingMandatoryPropertyError | CocoaError.validationMultipleErrors
    // surface: CocoaError.validationMultipleErrorsError | CocoaError.validationNumberTooLarge
    // surface: CocoaError.validationNumberTooLargeError | CocoaError.validationNumberTooSmall
    // surface: CocoaError.validationNumberTooSmallError | CocoaError.validationRelationshipDeniedDelete
    // surface: CocoaError.validationRelationshipDeniedDeleteError | CocoaError.validationRelationshipExceedsMaximumCount
    // surface: CocoaError.validationRelationshipExceedsMaximumCountError | CocoaError.validationRelationshipLacksMinimumCount
    // surface: CocoaError.validationRelationshipLacksMinimumCountError | CocoaError.validationStringPatternMatching
    // surface: CocoaError.validationStringPatternMatchingError | CocoaError.validationStringTooLong
    // surface: CocoaError.validationStringTooLongError | CocoaError.validationStringTooShort
    // surface: CocoaError.validationStringTooShortError
    let named: [CocoaError.Code] = [
      CocoaError.coreData, CocoaError.coreDataError, CocoaError.entityMigrationPolicy,
      CocoaError.entityMigrationPolicyError, CocoaError.externalRecordImport,
      CocoaError.externalRecordImportError, CocoaError.inferredMappingModel,
      CocoaError.inferredMappingModelError, CocoaError.managedObjectConstraintMerge,
      CocoaError.managedObjectConstraintMergeError, CocoaError.managedObjectContextLocking,
      CocoaError.managedObjectContextLockingError, CocoaError.managedObjectExternalRelationship,
      CocoaError.managedObjectExternalRelationshipError, CocoaError.managedObjectMerge,
      CocoaError.managedObjectMergeError, CocoaError.managedObjectReferentialIntegrity,
      CocoaError.managedObjectReferentialIntegrityError, CocoaError.managedObjectValidation,
      CocoaError.managedObjectValidationError, CocoaError.migration, CocoaError.migrationCancelled,
      CocoaError.migrationCancelledError, CocoaError.migrationError,
      CocoaError.migrationManagerDestinationStore, CocoaError.migrationManagerDestinationStoreError,
      CocoaError.migrationManagerSourceStore, CocoaError.migrationManagerSourceStoreError,
      CocoaError.migrationMissingMappingModel, CocoaError.migrationMissingMappingModelError,
      CocoaError.migrationMissingSourceModel, CocoaError.migrationMissingSourceModelError,
      CocoaError.persistentStoreCoordinatorLocking, CocoaError.persistentStoreCoordinatorLockingError,
      CocoaError.persistentStoreIncompatibleSchema, CocoaError.persistentStoreIncompatibleSchemaError,
      CocoaError.persistentStoreIncompatibleVersionHash,
      CocoaError.persistentStoreIncompatibleVersionHashError, CocoaError.persistentStoreIncompleteSave,
      CocoaError.persistentStoreIncompleteSaveError, CocoaError.persistentStoreInvalidType,
      CocoaError.persistentStoreInvalidTypeError, CocoaError.persistentStoreOpen,
      CocoaError.persistentStoreOpenError, CocoaError.persistentStoreOperation,
      CocoaError.persistentStoreOperationError, CocoaError.persistentStoreSave,
      CocoaError.persistentStoreSaveConflicts, CocoaError.persistentStoreSaveConflictsError,
      CocoaError.persistentStoreSaveError, CocoaError.persistentStoreTimeout,
      CocoaError.persistentStoreTimeoutError, CocoaError.persistentStoreTypeMismatch,
      CocoaError.persistentStoreTypeMismatchError, CocoaError.persistentStoreUnsupportedRequestType,
      CocoaError.persistentStoreUnsupportedRequestTypeError, CocoaError.sqlite, CocoaError.sqliteError,
      CocoaError.validationDateTooLate, CocoaError.validationDateTooLateError,
      CocoaError.validationDateTooSoon, CocoaError.validationDateTooSoonError,
      CocoaError.validationInvalidDate, CocoaError.validationInvalidDateError,
      CocoaError.validationMissingMandatoryProperty, CocoaError.validationMissingMandatoryPropertyError,
      CocoaError.validationMultipleErrors, CocoaError.validationMultipleErrorsError,
      CocoaError.validationNumberTooLarge, CocoaError.validationNumberTooLargeError,
      CocoaError.validationNumberTooSmall, CocoaError.validationNumberTooSmallError,
      CocoaError.validationRelationshipDeniedDelete, CocoaError.validationRelationshipDeniedDeleteError,
      CocoaError.validationRelationshipExceedsMaximumCount,
      CocoaError.validationRelationshipExceedsMaximumCountError,
      CocoaError.validationRelationshipLacksMinimumCount,
      CocoaError.validationRelationshipLacksMinimumCountError, CocoaError.validationStringPatternMatching,
      CocoaError.validationStringPatternMatchingError, CocoaError.validationStringTooLong,
      CocoaError.validationStringTooLongError, CocoaError.validationStringTooShort,
      CocoaError.validationStringTooShortError,
    ]
    #expect(codes.map(\.rawValue) == named.map(\.rawValue))
    #expect(codes.allSatisfy { numbers.contains($0.rawValue) })
  }

  @Test("Keys of the user info, and their values by name")
  func keys() {
    // surface: NSDetailedErrorsKey | NSValidationObjectErrorKey | NSValidationKeyErrorKey | NSValidationPredicateErrorKey
    // surface: NSValidationValueErrorKey | NSAffectedStoresErrorKey | NSAffectedObjectsErrorKey
    // surface: NSPersistentStoreSaveConflictsErrorKey | CocoaError.affectedObjects | CocoaError.affectedStores
    // surface: CocoaError.validationKey | CocoaError.validationObject | CocoaError.validationPredicate | CocoaError.validationValue
    let error = CocoaError(
      .validationMultipleErrors,
      userInfo: [
        NSDetailedErrorsKey: [NSError](), NSValidationObjectErrorKey: 1, NSValidationKeyErrorKey: "name",
        NSValidationPredicateErrorKey: NSPredicate(value: true), NSValidationValueErrorKey: "x",
        NSAffectedStoresErrorKey: [NSObject()], NSAffectedObjectsErrorKey: [NSObject(), NSObject()],
        NSPersistentStoreSaveConflictsErrorKey: [NSMergeConflict](),
      ])
    #expect(error.affectedObjects?.count == 2 && error.affectedStores?.count == 1)
    #expect(error.validationKey == "name" && error.validationObject as? Int == 1)
    #expect(error.validationPredicate != nil && error.validationValue as? String == "x")
    #expect(error.persistentStoreSaveConflicts?.isEmpty == true)
    #expect((error as NSError).code == NSValidationMultipleErrorsError)
  }
}
