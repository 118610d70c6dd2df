import CoreData
import Foundation
import Testing

// Errors by name: every code, in each of its spellings, has the number of its global constant.

@Suite("Names of errors")
struct ErrorSurface {
  @Test("The constants, the codes and the names of errors agree")
  func names() {
    // tsv: NSCoreDataError | NSEntityMigrationPolicyError | NSExternalRecordImportError | NSInferredMappingModelError
    // tsv: NSManagedObjectConstraintMergeError | NSManagedObjectConstraintValidationError
    // tsv: NSManagedObjectContextLockingError | NSManagedObjectExternalRelationshipError | NSManagedObjectMergeError
    // tsv: NSManagedObjectModelReferenceNotFoundError | NSManagedObjectReferentialIntegrityError
    // tsv: NSManagedObjectValidationError | NSMigrationCancelledError | NSMigrationConstraintViolationError
    // tsv: NSMigrationError | NSMigrationManagerDestinationStoreError | NSMigrationManagerSourceStoreError
    // tsv: NSMigrationMissingMappingModelError | NSMigrationMissingSourceModelError
    // tsv: NSPersistentHistoryTokenExpiredError | NSPersistentStoreCoordinatorLockingError
    // tsv: NSPersistentStoreIncompatibleSchemaError | NSPersistentStoreIncompatibleVersionHashError
    // tsv: NSPersistentStoreIncompleteSaveError | NSPersistentStoreInvalidTypeError | NSPersistentStoreOpenError
    // tsv: NSPersistentStoreOperationError | NSPersistentStoreSaveConflictsError | NSPersistentStoreSaveError
    // tsv: NSPersistentStoreTimeoutError | NSPersistentStoreTypeMismatchError
    // tsv: NSPersistentStoreUnsupportedRequestTypeError | NSSQLiteError | NSStagedMigrationBackwardMigrationError
    // tsv: NSStagedMigrationFrameworkVersionMismatchError | NSValidationDateTooLateError | NSValidationDateTooSoonError
    // tsv: NSValidationInvalidDateError | NSValidationInvalidURIError | NSValidationMissingMandatoryPropertyError
    // tsv: NSValidationMultipleErrorsError | NSValidationNumberTooLargeError | NSValidationNumberTooSmallError
    // tsv: NSValidationRelationshipDeniedDeleteError | NSValidationRelationshipExceedsMaximumCountError
    // tsv: NSValidationRelationshipLacksMinimumCountError | NSValidationStringPatternMatchingError
    // tsv: NSValidationStringTooLongError | NSValidationStringTooShortError
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
    // tsv: CocoaError.Code.coreData | CocoaError.Code.coreDataError | CocoaError.Code.entityMigrationPolicy
    // tsv: CocoaError.Code.entityMigrationPolicyError | CocoaError.Code.externalRecordImport
    // tsv: CocoaError.Code.externalRecordImportError | CocoaError.Code.inferredMappingModel
    // tsv: CocoaError.Code.inferredMappingModelError | CocoaError.Code.managedObjectConstraintMerge
    // tsv: CocoaError.Code.managedObjectConstraintMergeError | CocoaError.Code.managedObjectContextLocking
    // tsv: CocoaError.Code.managedObjectContextLockingError | CocoaError.Code.managedObjectExternalRelationship
    // tsv: CocoaError.Code.managedObjectExternalRelationshipError | CocoaError.Code.managedObjectMerge
    // tsv: CocoaError.Code.managedObjectMergeError | CocoaError.Code.managedObjectReferentialIntegrity
    // tsv: CocoaError.Code.managedObjectReferentialIntegrityError | CocoaError.Code.managedObjectValidation
    // tsv: CocoaError.Code.managedObjectValidationError | CocoaError.Code.migration | CocoaError.Code.migrationCancelled
    // tsv: CocoaError.Code.migrationCancelledError | CocoaError.Code.migrationError
    // tsv: CocoaError.Code.migrationManagerDestinationStore | CocoaError.Code.migrationManagerDestinationStoreError
    // tsv: CocoaError.Code.migrationManagerSourceStore | CocoaError.Code.migrationManagerSourceStoreError
    // tsv: CocoaError.Code.migrationMissingMappingModel | CocoaError.Code.migrationMissingMappingModelError
    // tsv: CocoaError.Code.migrationMissingSourceModel | CocoaError.Code.migrationMissingSourceModelError
    // tsv: CocoaError.Code.persistentStoreCoordinatorLocking | CocoaError.Code.persistentStoreCoordinatorLockingError
    // tsv: CocoaError.Code.persistentStoreIncompatibleSchema | CocoaError.Code.persistentStoreIncompatibleSchemaError
    // tsv: CocoaError.Code.persistentStoreIncompatibleVersionHash
    // tsv: CocoaError.Code.persistentStoreIncompatibleVersionHashError | CocoaError.Code.persistentStoreIncompleteSave
    // tsv: CocoaError.Code.persistentStoreIncompleteSaveError | CocoaError.Code.persistentStoreInvalidType
    // tsv: CocoaError.Code.persistentStoreInvalidTypeError | CocoaError.Code.persistentStoreOpen
    // tsv: CocoaError.Code.persistentStoreOpenError | CocoaError.Code.persistentStoreOperation
    // tsv: CocoaError.Code.persistentStoreOperationError | CocoaError.Code.persistentStoreSave
    // tsv: CocoaError.Code.persistentStoreSaveConflicts | CocoaError.Code.persistentStoreSaveConflictsError
    // tsv: CocoaError.Code.persistentStoreSaveError | CocoaError.Code.persistentStoreTimeout
    // tsv: CocoaError.Code.persistentStoreTimeoutError | CocoaError.Code.persistentStoreTypeMismatch
    // tsv: CocoaError.Code.persistentStoreTypeMismatchError | CocoaError.Code.persistentStoreUnsupportedRequestType
    // tsv: CocoaError.Code.persistentStoreUnsupportedRequestTypeError | CocoaError.Code.sqlite
    // tsv: CocoaError.Code.sqliteError | CocoaError.Code.validationDateTooLate
    // tsv: CocoaError.Code.validationDateTooLateError | CocoaError.Code.validationDateTooSoon
    // tsv: CocoaError.Code.validationDateTooSoonError | CocoaError.Code.validationInvalidDate
    // tsv: CocoaError.Code.validationInvalidDateError | CocoaError.Code.validationMissingMandatoryProperty
    // tsv: CocoaError.Code.validationMissingMandatoryPropertyError | CocoaError.Code.validationMultipleErrors
    // tsv: CocoaError.Code.validationMultipleErrorsError | CocoaError.Code.validationNumberTooLarge
    // tsv: CocoaError.Code.validationNumberTooLargeError | CocoaError.Code.validationNumberTooSmall
    // tsv: CocoaError.Code.validationNumberTooSmallError | CocoaError.Code.validationRelationshipDeniedDelete
    // tsv: CocoaError.Code.validationRelationshipDeniedDeleteError
    // tsv: CocoaError.Code.validationRelationshipExceedsMaximumCount
    // tsv: CocoaError.Code.validationRelationshipExceedsMaximumCountError
    // tsv: CocoaError.Code.validationRelationshipLacksMinimumCount
    // tsv: CocoaError.Code.validationRelationshipLacksMinimumCountError | CocoaError.Code.validationStringPatternMatching
    // tsv: CocoaError.Code.validationStringPatternMatchingError | CocoaError.Code.validationStringTooLong
    // tsv: CocoaError.Code.validationStringTooLongError | CocoaError.Code.validationStringTooShort
    // tsv: CocoaError.Code.validationStringTooShortError
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
    // tsv: CocoaError.coreData | CocoaError.coreDataError | CocoaError.entityMigrationPolicy
    // tsv: CocoaError.entityMigrationPolicyError | CocoaError.externalRecordImport | CocoaError.externalRecordImportError
    // tsv: CocoaError.inferredMappingModel | CocoaError.inferredMappingModelError
    // tsv: CocoaError.managedObjectConstraintMerge | CocoaError.managedObjectConstraintMergeError
    // tsv: CocoaError.managedObjectContextLocking | CocoaError.managedObjectContextLockingError
    // tsv: CocoaError.managedObjectExternalRelationship | CocoaError.managedObjectExternalRelationshipError
    // tsv: CocoaError.managedObjectMerge | CocoaError.managedObjectMergeError
    // tsv: CocoaError.managedObjectReferentialIntegrity | CocoaError.managedObjectReferentialIntegrityError
    // tsv: CocoaError.managedObjectValidation | CocoaError.managedObjectValidationError | CocoaError.migration
    // tsv: CocoaError.migrationCancelled | CocoaError.migrationCancelledError | CocoaError.migrationError
    // tsv: CocoaError.migrationManagerDestinationStore | CocoaError.migrationManagerDestinationStoreError
    // tsv: CocoaError.migrationManagerSourceStore | CocoaError.migrationManagerSourceStoreError
    // tsv: CocoaError.migrationMissingMappingModel | CocoaError.migrationMissingMappingModelError
    // tsv: CocoaError.migrationMissingSourceModel | CocoaError.migrationMissingSourceModelError
    // tsv: CocoaError.persistentStoreCoordinatorLocking | CocoaError.persistentStoreCoordinatorLockingError
    // tsv: CocoaError.persistentStoreIncompatibleSchema | CocoaError.persistentStoreIncompatibleSchemaError
    // tsv: CocoaError.persistentStoreIncompatibleVersionHash | CocoaError.persistentStoreIncompatibleVersionHashError
    // tsv: CocoaError.persistentStoreIncompleteSave | CocoaError.persistentStoreIncompleteSaveError
    // tsv: CocoaError.persistentStoreInvalidType | CocoaError.persistentStoreInvalidTypeError
    // tsv: CocoaError.persistentStoreOpen | CocoaError.persistentStoreOpenError | CocoaError.persistentStoreOperation
    // tsv: CocoaError.persistentStoreOperationError | CocoaError.persistentStoreSave
    // tsv: CocoaError.persistentStoreSaveConflicts | CocoaError.persistentStoreSaveConflictsError
    // tsv: CocoaError.persistentStoreSaveError | CocoaError.persistentStoreTimeout
    // tsv: CocoaError.persistentStoreTimeoutError | CocoaError.persistentStoreTypeMismatch
    // tsv: CocoaError.persistentStoreTypeMismatchError | CocoaError.persistentStoreUnsupportedRequestType
    // tsv: CocoaError.persistentStoreUnsupportedRequestTypeError | CocoaError.sqlite | CocoaError.sqliteError
    // tsv: CocoaError.validationDateTooLate | CocoaError.validationDateTooLateError | CocoaError.validationDateTooSoon
    // tsv: CocoaError.validationDateTooSoonError | CocoaError.validationInvalidDate
    // tsv: CocoaError.validationInvalidDateError | CocoaError.validationMissingMandatoryProperty
    // tsv: CocoaError.validationMissingMandatoryPropertyError | CocoaError.validationMultipleErrors
    // tsv: CocoaError.validationMultipleErrorsError | CocoaError.validationNumberTooLarge
    // tsv: CocoaError.validationNumberTooLargeError | CocoaError.validationNumberTooSmall
    // tsv: CocoaError.validationNumberTooSmallError | CocoaError.validationRelationshipDeniedDelete
    // tsv: CocoaError.validationRelationshipDeniedDeleteError | CocoaError.validationRelationshipExceedsMaximumCount
    // tsv: CocoaError.validationRelationshipExceedsMaximumCountError | CocoaError.validationRelationshipLacksMinimumCount
    // tsv: CocoaError.validationRelationshipLacksMinimumCountError | CocoaError.validationStringPatternMatching
    // tsv: CocoaError.validationStringPatternMatchingError | CocoaError.validationStringTooLong
    // tsv: CocoaError.validationStringTooLongError | CocoaError.validationStringTooShort
    // tsv: CocoaError.validationStringTooShortError
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
    // tsv: NSDetailedErrorsKey | NSValidationObjectErrorKey | NSValidationKeyErrorKey | NSValidationPredicateErrorKey
    // tsv: NSValidationValueErrorKey | NSAffectedStoresErrorKey | NSAffectedObjectsErrorKey
    // tsv: NSPersistentStoreSaveConflictsErrorKey | CocoaError.affectedObjects | CocoaError.affectedStores
    // tsv: CocoaError.validationKey | CocoaError.validationObject | CocoaError.validationPredicate | CocoaError.validationValue
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
