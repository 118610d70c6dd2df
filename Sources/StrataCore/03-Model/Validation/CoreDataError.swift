import Foundation

/// An error with Core Data's domain, code and user info. `error as NSError` gives exactly those.
public struct CoreDataError: Error, CustomNSError, LocalizedError, @unchecked Sendable {
  // @unchecked Sendable: the user info may hold managed objects, which are read on their context's queue only,
  // as everything that holds them.

  /// Core Data's error codes (rules 348–353).
  public enum Code: Int, Sendable, CaseIterable {
    case managedObjectValidation = 1550
    case managedObjectConstraintValidation = 1551
    case validationMultipleErrors = 1560
    case validationMissingMandatoryProperty = 1570
    case validationRelationshipLacksMinimumCount = 1580
    case validationRelationshipExceedsMaximumCount = 1590
    case validationRelationshipDeniedDelete = 1600
    case validationNumberTooLarge = 1610
    case validationNumberTooSmall = 1620
    case validationDateTooLate = 1630
    case validationDateTooSoon = 1640
    case validationInvalidDate = 1650
    case validationStringTooLong = 1660
    case validationStringTooShort = 1670
    case validationStringPatternMatching = 1680
    case validationInvalidURI = 1690

    case managedObjectContextLocking = 132_000
    /// A save of a context inside a save of the same context. Core Data has no name for it.
    case recursiveSave = 132_001
    case persistentStoreCoordinatorLocking = 132_010

    case managedObjectReferentialIntegrity = 133_000
    case managedObjectExternalRelationship = 133_010
    case managedObjectMerge = 133_020
    case managedObjectConstraintMerge = 133_021

    case persistentStoreInvalidType = 134_000
    case persistentStoreTypeMismatch = 134_010
    case persistentStoreIncompatibleSchema = 134_020
    case persistentStoreSave = 134_030
    case persistentStoreIncompleteSave = 134_040
    case persistentStoreSaveConflicts = 134_050
    case coreData = 134_060
    case persistentStoreOperation = 134_070
    case persistentStoreOpen = 134_080
    case persistentStoreTimeout = 134_090
    case persistentStoreUnsupportedRequestType = 134_091
    case persistentStoreIncompatibleVersionHash = 134_100

    case migration = 134_110
    case migrationConstraintViolation = 134_111
    case migrationCancelled = 134_120
    case migrationMissingSourceModel = 134_130
    case migrationMissingMappingModel = 134_140
    case migrationManagerSourceStore = 134_150
    case migrationManagerDestinationStore = 134_160
    case entityMigrationPolicy = 134_170
    case sqlite = 134_180
    case inferredMappingModel = 134_190
    case externalRecordImport = 134_200

    case persistentHistoryTokenExpired = 134_301
    case managedObjectModelReferenceNotFound = 134_504
    case stagedMigrationFrameworkVersionMismatch = 134_505
    case stagedMigrationBackwardMigration = 134_506
  }

  /// Core Data's keys of the user info (rule 354).
  public enum Key {
    /// The single errors of ``Code/validationMultipleErrors``.
    public static let detailedErrors = "NSDetailedErrors"
    /// The object that is not valid.
    public static let validationObject = "NSValidationErrorObject"
    /// The name of the property that is not valid.
    public static let validationKey = "NSValidationErrorKey"
    /// The predicate that does not hold.
    public static let validationPredicate = "NSValidationErrorPredicate"
    /// The value that is not valid.
    public static let validationValue = "NSValidationErrorValue"
    /// The stores concerned.
    public static let affectedStores = "NSAffectedStoresErrorKey"
    /// The objects concerned.
    public static let affectedObjects = "NSAffectedObjectsErrorKey"
    /// The conflicts of a failed save.
    public static let saveConflicts = "NSPersistentStoreSaveConflictsErrorKey"
    /// The constraint conflicts of a failed save.
    public static let constraintConflicts = "conflictList"
  }

  /// Core Data's domain.
  public static let errorDomain = "NSCocoaErrorDomain"

  /// What went wrong.
  public let code: Code
  /// What it concerns, under the names in ``Key`` and Foundation's.
  public let userInfo: [String: Any]

  /// An error with that code; `message` becomes the localized description.
  public init(_ code: Code, _ message: String? = nil, userInfo: [String: Any] = [:]) {
    self.code = code
    var userInfo = userInfo
    if let message { userInfo[NSLocalizedDescriptionKey] = message }
    self.userInfo = userInfo
  }

  public var errorCode: Int { code.rawValue }
  public var errorUserInfo: [String: Any] {
    // Without a description Foundation says no more than the code, whatever `errorDescription` is.
    userInfo.merging([NSLocalizedDescriptionKey: code.sentence]) { own, _ in own }
  }
  public var errorDescription: String? {
    userInfo[NSLocalizedDescriptionKey] as? String ?? code.sentence
  }
}

extension CoreDataError {
  /// The same as the error that Foundation knows, which `catch let error as NSError` and `as? CocoaError` understand on every platform; single
  /// errors in it as well. A condition of a model is the `NSPredicate` that it is by Core Data's names.
  package var cocoaError: CocoaError {
    var info = errorUserInfo
    if let all = info[Key.detailedErrors] as? [any Error] {
      info[Key.detailedErrors] = all.map { (($0 as? CoreDataError)?.cocoaError ?? $0) as NSError }
    }
    if let condition = info[Key.validationPredicate] as? any FoundationCondition {
      info[Key.validationPredicate] = condition.foundationPredicate
    }
    return CocoaError(CocoaError.Code(rawValue: errorCode), userInfo: info)
  }
}

extension CoreDataError: CustomStringConvertible {
  public var description: String {
    "\(errorDescription ?? "") (\(Self.errorDomain) \(code.rawValue), \(code))"
  }
}

extension CoreDataError.Code {
  /// What an error without a message of its own says.
  var sentence: String {
    switch self {
    case .validationMultipleErrors:
      "Several values are not valid; the single errors are under NSDetailedErrors."
    case .validationMissingMandatoryProperty: "A required value is missing."
    case .managedObjectReferentialIntegrity: "The record does not exist."
    case .managedObjectMerge:
      "Another writer changed or deleted records since they were read, and the merge policy does not say what to do."
    case .managedObjectConstraintMerge, .managedObjectConstraintValidation:
      "Records have the same values where the model says they are unique."
    case .persistentStoreSave: "The store could not be saved."
    case .persistentStoreIncompleteSave: "Only some of the stores could be saved."
    case .persistentStoreSaveConflicts: "Records were changed by others while they were being saved."
    case .persistentStoreOpen: "The store could not be opened."
    case .persistentStoreTimeout: "The store was busy for too long."
    case .persistentStoreIncompatibleVersionHash: "The store was written with another version of the model."
    default: "Core Data error \(rawValue) (\(self))."
    }
  }
}

extension CoreDataError: ValuelessError {
  package var textWithoutValues: String { "CoreDataError \(code.rawValue)" }
}
