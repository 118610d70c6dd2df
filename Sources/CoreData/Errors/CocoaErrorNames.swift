import Foundation

// The codes once more, as `catch CocoaError.validationNumberTooLarge` names them.

extension CocoaError {
  /// See `CocoaError.Code.managedObjectValidation`.
  public static var managedObjectValidation: CocoaError.Code { .managedObjectValidation }
  /// See `CocoaError.Code.managedObjectValidation`.
  public static var managedObjectValidationError: CocoaError.Code { .managedObjectValidation }
  /// See `CocoaError.Code.validationMultipleErrors`.
  public static var validationMultipleErrors: CocoaError.Code { .validationMultipleErrors }
  /// See `CocoaError.Code.validationMultipleErrors`.
  public static var validationMultipleErrorsError: CocoaError.Code { .validationMultipleErrors }
  /// See `CocoaError.Code.validationMissingMandatoryProperty`.
  public static var validationMissingMandatoryProperty: CocoaError.Code { .validationMissingMandatoryProperty }
  /// See `CocoaError.Code.validationMissingMandatoryProperty`.
  public static var validationMissingMandatoryPropertyError: CocoaError.Code { .validationMissingMandatoryProperty }
  /// See `CocoaError.Code.validationRelationshipLacksMinimumCount`.
  public static var validationRelationshipLacksMinimumCount: CocoaError.Code { .validationRelationshipLacksMinimumCount }
  /// See `CocoaError.Code.validationRelationshipLacksMinimumCount`.
  public static var validationRelationshipLacksMinimumCountError: CocoaError.Code { .validationRelationshipLacksMinimumCount }
  /// See `CocoaError.Code.validationRelationshipExceedsMaximumCount`.
  public static var validationRelationshipExceedsMaximumCount: CocoaError.Code { .validationRelationshipExceedsMaximumCount }
  /// See `CocoaError.Code.validationRelationshipExceedsMaximumCount`.
  public static var validationRelationshipExceedsMaximumCountError: CocoaError.Code { .validationRelationshipExceedsMaximumCount }
  /// See `CocoaError.Code.validationRelationshipDeniedDelete`.
  public static var validationRelationshipDeniedDelete: CocoaError.Code { .validationRelationshipDeniedDelete }
  /// See `CocoaError.Code.validationRelationshipDeniedDelete`.
  public static var validationRelationshipDeniedDeleteError: CocoaError.Code { .validationRelationshipDeniedDelete }
  /// See `CocoaError.Code.validationNumberTooLarge`.
  public static var validationNumberTooLarge: CocoaError.Code { .validationNumberTooLarge }
  /// See `CocoaError.Code.validationNumberTooLarge`.
  public static var validationNumberTooLargeError: CocoaError.Code { .validationNumberTooLarge }
  /// See `CocoaError.Code.validationNumberTooSmall`.
  public static var validationNumberTooSmall: CocoaError.Code { .validationNumberTooSmall }
  /// See `CocoaError.Code.validationNumberTooSmall`.
  public static var validationNumberTooSmallError: CocoaError.Code { .validationNumberTooSmall }
  /// See `CocoaError.Code.validationDateTooLate`.
  public static var validationDateTooLate: CocoaError.Code { .validationDateTooLate }
  /// See `CocoaError.Code.validationDateTooLate`.
  public static var validationDateTooLateError: CocoaError.Code { .validationDateTooLate }
  /// See `CocoaError.Code.validationDateTooSoon`.
  public static var validationDateTooSoon: CocoaError.Code { .validationDateTooSoon }
  /// See `CocoaError.Code.validationDateTooSoon`.
  public static var validationDateTooSoonError: CocoaError.Code { .validationDateTooSoon }
  /// See `CocoaError.Code.validationInvalidDate`.
  public static var validationInvalidDate: CocoaError.Code { .validationInvalidDate }
  /// See `CocoaError.Code.validationInvalidDate`.
  public static var validationInvalidDateError: CocoaError.Code { .validationInvalidDate }
  /// See `CocoaError.Code.validationStringTooLong`.
  public static var validationStringTooLong: CocoaError.Code { .validationStringTooLong }
  /// See `CocoaError.Code.validationStringTooLong`.
  public static var validationStringTooLongError: CocoaError.Code { .validationStringTooLong }
  /// See `CocoaError.Code.validationStringTooShort`.
  public static var validationStringTooShort: CocoaError.Code { .validationStringTooShort }
  /// See `CocoaError.Code.validationStringTooShort`.
  public static var validationStringTooShortError: CocoaError.Code { .validationStringTooShort }
  /// See `CocoaError.Code.validationStringPatternMatching`.
  public static var validationStringPatternMatching: CocoaError.Code { .validationStringPatternMatching }
  /// See `CocoaError.Code.validationStringPatternMatching`.
  public static var validationStringPatternMatchingError: CocoaError.Code { .validationStringPatternMatching }
  /// See `CocoaError.Code.managedObjectContextLocking`.
  public static var managedObjectContextLocking: CocoaError.Code { .managedObjectContextLocking }
  /// See `CocoaError.Code.managedObjectContextLocking`.
  public static var managedObjectContextLockingError: CocoaError.Code { .managedObjectContextLocking }
  /// See `CocoaError.Code.persistentStoreCoordinatorLocking`.
  public static var persistentStoreCoordinatorLocking: CocoaError.Code { .persistentStoreCoordinatorLocking }
  /// See `CocoaError.Code.persistentStoreCoordinatorLocking`.
  public static var persistentStoreCoordinatorLockingError: CocoaError.Code { .persistentStoreCoordinatorLocking }
  /// See `CocoaError.Code.managedObjectReferentialIntegrity`.
  public static var managedObjectReferentialIntegrity: CocoaError.Code { .managedObjectReferentialIntegrity }
  /// See `CocoaError.Code.managedObjectReferentialIntegrity`.
  public static var managedObjectReferentialIntegrityError: CocoaError.Code { .managedObjectReferentialIntegrity }
  /// See `CocoaError.Code.managedObjectExternalRelationship`.
  public static var managedObjectExternalRelationship: CocoaError.Code { .managedObjectExternalRelationship }
  /// See `CocoaError.Code.managedObjectExternalRelationship`.
  public static var managedObjectExternalRelationshipError: CocoaError.Code { .managedObjectExternalRelationship }
  /// See `CocoaError.Code.managedObjectMerge`.
  public static var managedObjectMerge: CocoaError.Code { .managedObjectMerge }
  /// See `CocoaError.Code.managedObjectMerge`.
  public static var managedObjectMergeError: CocoaError.Code { .managedObjectMerge }
  /// See `CocoaError.Code.managedObjectConstraintMerge`.
  public static var managedObjectConstraintMerge: CocoaError.Code { .managedObjectConstraintMerge }
  /// See `CocoaError.Code.managedObjectConstraintMerge`.
  public static var managedObjectConstraintMergeError: CocoaError.Code { .managedObjectConstraintMerge }
  /// See `CocoaError.Code.persistentStoreInvalidType`.
  public static var persistentStoreInvalidType: CocoaError.Code { .persistentStoreInvalidType }
  /// See `CocoaError.Code.persistentStoreInvalidType`.
  public static var persistentStoreInvalidTypeError: CocoaError.Code { .persistentStoreInvalidType }
  /// See `CocoaError.Code.persistentStoreTypeMismatch`.
  public static var persistentStoreTypeMismatch: CocoaError.Code { .persistentStoreTypeMismatch }
  /// See `CocoaError.Code.persistentStoreTypeMismatch`.
  public static var persistentStoreTypeMismatchError: CocoaError.Code { .persistentStoreTypeMismatch }
  /// See `CocoaError.Code.persistentStoreIncompatibleSchema`.
  public static var persistentStoreIncompatibleSchema: CocoaError.Code { .persistentStoreIncompatibleSchema }
  /// See `CocoaError.Code.persistentStoreIncompatibleSchema`.
  public static var persistentStoreIncompatibleSchemaError: CocoaError.Code { .persistentStoreIncompatibleSchema }
  /// See `CocoaError.Code.persistentStoreSave`.
  public static var persistentStoreSave: CocoaError.Code { .persistentStoreSave }
  /// See `CocoaError.Code.persistentStoreSave`.
  public static var persistentStoreSaveError: CocoaError.Code { .persistentStoreSave }
  /// See `CocoaError.Code.persistentStoreIncompleteSave`.
  public static var persistentStoreIncompleteSave: CocoaError.Code { .persistentStoreIncompleteSave }
  /// See `CocoaError.Code.persistentStoreIncompleteSave`.
  public static var persistentStoreIncompleteSaveError: CocoaError.Code { .persistentStoreIncompleteSave }
  /// See `CocoaError.Code.persistentStoreSaveConflicts`.
  public static var persistentStoreSaveConflicts: CocoaError.Code { .persistentStoreSaveConflicts }
  /// See `CocoaError.Code.persistentStoreSaveConflicts`.
  public static var persistentStoreSaveConflictsError: CocoaError.Code { .persistentStoreSaveConflicts }
  /// See `CocoaError.Code.coreData`.
  public static var coreData: CocoaError.Code { .coreData }
  /// See `CocoaError.Code.coreData`.
  public static var coreDataError: CocoaError.Code { .coreData }
  /// See `CocoaError.Code.persistentStoreOperation`.
  public static var persistentStoreOperation: CocoaError.Code { .persistentStoreOperation }
  /// See `CocoaError.Code.persistentStoreOperation`.
  public static var persistentStoreOperationError: CocoaError.Code { .persistentStoreOperation }
  /// See `CocoaError.Code.persistentStoreOpen`.
  public static var persistentStoreOpen: CocoaError.Code { .persistentStoreOpen }
  /// See `CocoaError.Code.persistentStoreOpen`.
  public static var persistentStoreOpenError: CocoaError.Code { .persistentStoreOpen }
  /// See `CocoaError.Code.persistentStoreTimeout`.
  public static var persistentStoreTimeout: CocoaError.Code { .persistentStoreTimeout }
  /// See `CocoaError.Code.persistentStoreTimeout`.
  public static var persistentStoreTimeoutError: CocoaError.Code { .persistentStoreTimeout }
  /// See `CocoaError.Code.persistentStoreUnsupportedRequestType`.
  public static var persistentStoreUnsupportedRequestType: CocoaError.Code { .persistentStoreUnsupportedRequestType }
  /// See `CocoaError.Code.persistentStoreUnsupportedRequestType`.
  public static var persistentStoreUnsupportedRequestTypeError: CocoaError.Code { .persistentStoreUnsupportedRequestType }
  /// See `CocoaError.Code.persistentStoreIncompatibleVersionHash`.
  public static var persistentStoreIncompatibleVersionHash: CocoaError.Code { .persistentStoreIncompatibleVersionHash }
  /// See `CocoaError.Code.persistentStoreIncompatibleVersionHash`.
  public static var persistentStoreIncompatibleVersionHashError: CocoaError.Code { .persistentStoreIncompatibleVersionHash }
  /// See `CocoaError.Code.migration`.
  public static var migration: CocoaError.Code { .migration }
  /// See `CocoaError.Code.migration`.
  public static var migrationError: CocoaError.Code { .migration }
  /// See `CocoaError.Code.migrationCancelled`.
  public static var migrationCancelled: CocoaError.Code { .migrationCancelled }
  /// See `CocoaError.Code.migrationCancelled`.
  public static var migrationCancelledError: CocoaError.Code { .migrationCancelled }
  /// See `CocoaError.Code.migrationMissingSourceModel`.
  public static var migrationMissingSourceModel: CocoaError.Code { .migrationMissingSourceModel }
  /// See `CocoaError.Code.migrationMissingSourceModel`.
  public static var migrationMissingSourceModelError: CocoaError.Code { .migrationMissingSourceModel }
  /// See `CocoaError.Code.migrationMissingMappingModel`.
  public static var migrationMissingMappingModel: CocoaError.Code { .migrationMissingMappingModel }
  /// See `CocoaError.Code.migrationMissingMappingModel`.
  public static var migrationMissingMappingModelError: CocoaError.Code { .migrationMissingMappingModel }
  /// See `CocoaError.Code.migrationManagerSourceStore`.
  public static var migrationManagerSourceStore: CocoaError.Code { .migrationManagerSourceStore }
  /// See `CocoaError.Code.migrationManagerSourceStore`.
  public static var migrationManagerSourceStoreError: CocoaError.Code { .migrationManagerSourceStore }
  /// See `CocoaError.Code.migrationManagerDestinationStore`.
  public static var migrationManagerDestinationStore: CocoaError.Code { .migrationManagerDestinationStore }
  /// See `CocoaError.Code.migrationManagerDestinationStore`.
  public static var migrationManagerDestinationStoreError: CocoaError.Code { .migrationManagerDestinationStore }
  /// See `CocoaError.Code.entityMigrationPolicy`.
  public static var entityMigrationPolicy: CocoaError.Code { .entityMigrationPolicy }
  /// See `CocoaError.Code.entityMigrationPolicy`.
  public static var entityMigrationPolicyError: CocoaError.Code { .entityMigrationPolicy }
  /// See `CocoaError.Code.sqlite`.
  public static var sqlite: CocoaError.Code { .sqlite }
  /// See `CocoaError.Code.sqlite`.
  public static var sqliteError: CocoaError.Code { .sqlite }
  /// See `CocoaError.Code.inferredMappingModel`.
  public static var inferredMappingModel: CocoaError.Code { .inferredMappingModel }
  /// See `CocoaError.Code.inferredMappingModel`.
  public static var inferredMappingModelError: CocoaError.Code { .inferredMappingModel }
  /// See `CocoaError.Code.externalRecordImport`.
  public static var externalRecordImport: CocoaError.Code { .externalRecordImport }
  /// See `CocoaError.Code.externalRecordImport`.
  public static var externalRecordImportError: CocoaError.Code { .externalRecordImport }
}
