import Foundation

extension CocoaError.Code {
  /// 1550.
  public static var managedObjectValidation: CocoaError.Code { CocoaError.Code(rawValue: 1550) }
  /// The older spelling of `managedObjectValidation`.
  public static var managedObjectValidationError: CocoaError.Code { .managedObjectValidation }
  /// 1560.
  public static var validationMultipleErrors: CocoaError.Code { CocoaError.Code(rawValue: 1560) }
  /// The older spelling of `validationMultipleErrors`.
  public static var validationMultipleErrorsError: CocoaError.Code { .validationMultipleErrors }
  /// 1570.
  public static var validationMissingMandatoryProperty: CocoaError.Code { CocoaError.Code(rawValue: 1570) }
  /// The older spelling of `validationMissingMandatoryProperty`.
  public static var validationMissingMandatoryPropertyError: CocoaError.Code { .validationMissingMandatoryProperty }
  /// 1580.
  public static var validationRelationshipLacksMinimumCount: CocoaError.Code { CocoaError.Code(rawValue: 1580) }
  /// The older spelling of `validationRelationshipLacksMinimumCount`.
  public static var validationRelationshipLacksMinimumCountError: CocoaError.Code { .validationRelationshipLacksMinimumCount }
  /// 1590.
  public static var validationRelationshipExceedsMaximumCount: CocoaError.Code { CocoaError.Code(rawValue: 1590) }
  /// The older spelling of `validationRelationshipExceedsMaximumCount`.
  public static var validationRelationshipExceedsMaximumCountError: CocoaError.Code { .validationRelationshipExceedsMaximumCount }
  /// 1600.
  public static var validationRelationshipDeniedDelete: CocoaError.Code { CocoaError.Code(rawValue: 1600) }
  /// The older spelling of `validationRelationshipDeniedDelete`.
  public static var validationRelationshipDeniedDeleteError: CocoaError.Code { .validationRelationshipDeniedDelete }
  /// 1610.
  public static var validationNumberTooLarge: CocoaError.Code { CocoaError.Code(rawValue: 1610) }
  /// The older spelling of `validationNumberTooLarge`.
  public static var validationNumberTooLargeError: CocoaError.Code { .validationNumberTooLarge }
  /// 1620.
  public static var validationNumberTooSmall: CocoaError.Code { CocoaError.Code(rawValue: 1620) }
  /// The older spelling of `validationNumberTooSmall`.
  public static var validationNumberTooSmallError: CocoaError.Code { .validationNumberTooSmall }
  /// 1630.
  public static var validationDateTooLate: CocoaError.Code { CocoaError.Code(rawValue: 1630) }
  /// The older spelling of `validationDateTooLate`.
  public static var validationDateTooLateError: CocoaError.Code { .validationDateTooLate }
  /// 1640.
  public static var validationDateTooSoon: CocoaError.Code { CocoaError.Code(rawValue: 1640) }
  /// The older spelling of `validationDateTooSoon`.
  public static var validationDateTooSoonError: CocoaError.Code { .validationDateTooSoon }
  /// 1650.
  public static var validationInvalidDate: CocoaError.Code { CocoaError.Code(rawValue: 1650) }
  /// The older spelling of `validationInvalidDate`.
  public static var validationInvalidDateError: CocoaError.Code { .validationInvalidDate }
  /// 1660.
  public static var validationStringTooLong: CocoaError.Code { CocoaError.Code(rawValue: 1660) }
  /// The older spelling of `validationStringTooLong`.
  public static var validationStringTooLongError: CocoaError.Code { .validationStringTooLong }
  /// 1670.
  public static var validationStringTooShort: CocoaError.Code { CocoaError.Code(rawValue: 1670) }
  /// The older spelling of `validationStringTooShort`.
  public static var validationStringTooShortError: CocoaError.Code { .validationStringTooShort }
  /// 1680.
  public static var validationStringPatternMatching: CocoaError.Code { CocoaError.Code(rawValue: 1680) }
  /// The older spelling of `validationStringPatternMatching`.
  public static var validationStringPatternMatchingError: CocoaError.Code { .validationStringPatternMatching }
  /// 132_000.
  public static var managedObjectContextLocking: CocoaError.Code { CocoaError.Code(rawValue: 132_000) }
  /// The older spelling of `managedObjectContextLocking`.
  public static var managedObjectContextLockingError: CocoaError.Code { .managedObjectContextLocking }
  /// 132_010.
  public static var persistentStoreCoordinatorLocking: CocoaError.Code { CocoaError.Code(rawValue: 132_010) }
  /// The older spelling of `persistentStoreCoordinatorLocking`.
  public static var persistentStoreCoordinatorLockingError: CocoaError.Code { .persistentStoreCoordinatorLocking }
  /// 133_000.
  public static var managedObjectReferentialIntegrity: CocoaError.Code { CocoaError.Code(rawValue: 133_000) }
  /// The older spelling of `managedObjectReferentialIntegrity`.
  public static var managedObjectReferentialIntegrityError: CocoaError.Code { .managedObjectReferentialIntegrity }
  /// 133_010.
  public static var managedObjectExternalRelationship: CocoaError.Code { CocoaError.Code(rawValue: 133_010) }
  /// The older spelling of `managedObjectExternalRelationship`.
  public static var managedObjectExternalRelationshipError: CocoaError.Code { .managedObjectExternalRelationship }
  /// 133_020.
  public static var managedObjectMerge: CocoaError.Code { CocoaError.Code(rawValue: 133_020) }
  /// The older spelling of `managedObjectMerge`.
  public static var managedObjectMergeError: CocoaError.Code { .managedObjectMerge }
  /// 133_021.
  public static var managedObjectConstraintMerge: CocoaError.Code { CocoaError.Code(rawValue: 133_021) }
  /// The older spelling of `managedObjectConstraintMerge`.
  public static var managedObjectConstraintMergeError: CocoaError.Code { .managedObjectConstraintMerge }
  /// 134_000.
  public static var persistentStoreInvalidType: CocoaError.Code { CocoaError.Code(rawValue: 134_000) }
  /// The older spelling of `persistentStoreInvalidType`.
  public static var persistentStoreInvalidTypeError: CocoaError.Code { .persistentStoreInvalidType }
  /// 134_010.
  public static var persistentStoreTypeMismatch: CocoaError.Code { CocoaError.Code(rawValue: 134_010) }
  /// The older spelling of `persistentStoreTypeMismatch`.
  public static var persistentStoreTypeMismatchError: CocoaError.Code { .persistentStoreTypeMismatch }
  /// 134_020.
  public static var persistentStoreIncompatibleSchema: CocoaError.Code { CocoaError.Code(rawValue: 134_020) }
  /// The older spelling of `persistentStoreIncompatibleSchema`.
  public static var persistentStoreIncompatibleSchemaError: CocoaError.Code { .persistentStoreIncompatibleSchema }
  /// 134_030.
  public static var persistentStoreSave: CocoaError.Code { CocoaError.Code(rawValue: 134_030) }
  /// The older spelling of `persistentStoreSave`.
  public static var persistentStoreSaveError: CocoaError.Code { .persistentStoreSave }
  /// 134_040.
  public static var persistentStoreIncompleteSave: CocoaError.Code { CocoaError.Code(rawValue: 134_040) }
  /// The older spelling of `persistentStoreIncompleteSave`.
  public static var persistentStoreIncompleteSaveError: CocoaError.Code { .persistentStoreIncompleteSave }
  /// 134_050.
  public static var persistentStoreSaveConflicts: CocoaError.Code { CocoaError.Code(rawValue: 134_050) }
  /// The older spelling of `persistentStoreSaveConflicts`.
  public static var persistentStoreSaveConflictsError: CocoaError.Code { .persistentStoreSaveConflicts }
  /// 134_060.
  public static var coreData: CocoaError.Code { CocoaError.Code(rawValue: 134_060) }
  /// The older spelling of `coreData`.
  public static var coreDataError: CocoaError.Code { .coreData }
  /// 134_070.
  public static var persistentStoreOperation: CocoaError.Code { CocoaError.Code(rawValue: 134_070) }
  /// The older spelling of `persistentStoreOperation`.
  public static var persistentStoreOperationError: CocoaError.Code { .persistentStoreOperation }
  /// 134_080.
  public static var persistentStoreOpen: CocoaError.Code { CocoaError.Code(rawValue: 134_080) }
  /// The older spelling of `persistentStoreOpen`.
  public static var persistentStoreOpenError: CocoaError.Code { .persistentStoreOpen }
  /// 134_090.
  public static var persistentStoreTimeout: CocoaError.Code { CocoaError.Code(rawValue: 134_090) }
  /// The older spelling of `persistentStoreTimeout`.
  public static var persistentStoreTimeoutError: CocoaError.Code { .persistentStoreTimeout }
  /// 134_091.
  public static var persistentStoreUnsupportedRequestType: CocoaError.Code { CocoaError.Code(rawValue: 134_091) }
  /// The older spelling of `persistentStoreUnsupportedRequestType`.
  public static var persistentStoreUnsupportedRequestTypeError: CocoaError.Code { .persistentStoreUnsupportedRequestType }
  /// 134_100.
  public static var persistentStoreIncompatibleVersionHash: CocoaError.Code { CocoaError.Code(rawValue: 134_100) }
  /// The older spelling of `persistentStoreIncompatibleVersionHash`.
  public static var persistentStoreIncompatibleVersionHashError: CocoaError.Code { .persistentStoreIncompatibleVersionHash }
  /// 134_110.
  public static var migration: CocoaError.Code { CocoaError.Code(rawValue: 134_110) }
  /// The older spelling of `migration`.
  public static var migrationError: CocoaError.Code { .migration }
  /// 134_120.
  public static var migrationCancelled: CocoaError.Code { CocoaError.Code(rawValue: 134_120) }
  /// The older spelling of `migrationCancelled`.
  public static var migrationCancelledError: CocoaError.Code { .migrationCancelled }
  /// 134_130.
  public static var migrationMissingSourceModel: CocoaError.Code { CocoaError.Code(rawValue: 134_130) }
  /// The older spelling of `migrationMissingSourceModel`.
  public static var migrationMissingSourceModelError: CocoaError.Code { .migrationMissingSourceModel }
  /// 134_140.
  public static var migrationMissingMappingModel: CocoaError.Code { CocoaError.Code(rawValue: 134_140) }
  /// The older spelling of `migrationMissingMappingModel`.
  public static var migrationMissingMappingModelError: CocoaError.Code { .migrationMissingMappingModel }
  /// 134_150.
  public static var migrationManagerSourceStore: CocoaError.Code { CocoaError.Code(rawValue: 134_150) }
  /// The older spelling of `migrationManagerSourceStore`.
  public static var migrationManagerSourceStoreError: CocoaError.Code { .migrationManagerSourceStore }
  /// 134_160.
  public static var migrationManagerDestinationStore: CocoaError.Code { CocoaError.Code(rawValue: 134_160) }
  /// The older spelling of `migrationManagerDestinationStore`.
  public static var migrationManagerDestinationStoreError: CocoaError.Code { .migrationManagerDestinationStore }
  /// 134_170.
  public static var entityMigrationPolicy: CocoaError.Code { CocoaError.Code(rawValue: 134_170) }
  /// The older spelling of `entityMigrationPolicy`.
  public static var entityMigrationPolicyError: CocoaError.Code { .entityMigrationPolicy }
  /// 134_180.
  public static var sqlite: CocoaError.Code { CocoaError.Code(rawValue: 134_180) }
  /// The older spelling of `sqlite`.
  public static var sqliteError: CocoaError.Code { .sqlite }
  /// 134_190.
  public static var inferredMappingModel: CocoaError.Code { CocoaError.Code(rawValue: 134_190) }
  /// The older spelling of `inferredMappingModel`.
  public static var inferredMappingModelError: CocoaError.Code { .inferredMappingModel }
  /// 134_200.
  public static var externalRecordImport: CocoaError.Code { CocoaError.Code(rawValue: 134_200) }
  /// The older spelling of `externalRecordImport`.
  public static var externalRecordImportError: CocoaError.Code { .externalRecordImport }
}
