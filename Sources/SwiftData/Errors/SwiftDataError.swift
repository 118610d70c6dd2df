/// What a container or a context refuses. Errors of saves are `CocoaError`s, as Core Data's are.
///
/// Two errors are equal when they are of one kind; ``reason`` says more.
public struct SwiftDataError: Error, Hashable {
  enum Kind: String, Hashable, Sendable {
    case unsupportedPredicate, unsupportedSortDescriptor, unsupportedKeyPath
    case includePendingChangesWithBatchSize, sortingPendingChangesWithIdentifiers
    case duplicateConfiguration, configurationFileNameTooLong, configurationFileNameContainsInvalidCharacters
    case configurationSchemaNotFoundInContainerSchema, loadIssueModelContainer
    case modelValidationFailure, missingModelContext, backwardMigration, unknownSchema
    case historyTokenExpired, invalidTransactionFetchRequest, unknownDataStoreSchema
  }

  let kind: Kind
  /// Why, in words; empty where the kind says it all.
  public let reason: String
  /// The error that led to this one.
  public let underlyingError: (any Error)?

  init(_ kind: Kind, _ reason: String = "", underlying: (any Error)? = nil) {
    self.kind = kind
    self.reason = reason
    underlyingError = underlying
  }

  public static func == (a: SwiftDataError, b: SwiftDataError) -> Bool { a.kind == b.kind }
  public func hash(into hasher: inout Hasher) { hasher.combine(kind) }

  /// The fetch has a predicate that no store can look up.
  public static let unsupportedPredicate = SwiftDataError(.unsupportedPredicate)
  /// The fetch is to be sorted by something that is no stored property.
  public static let unsupportedSortDescriptor = SwiftDataError(.unsupportedSortDescriptor)
  /// A key path leads to no stored property.
  public static let unsupportedKeyPath = SwiftDataError(.unsupportedKeyPath)
  /// A fetch in batches cannot include unsaved changes.
  public static let includePendingChangesWithBatchSize = SwiftDataError(.includePendingChangesWithBatchSize)
  /// A sorted fetch of identifiers cannot include unsaved changes.
  public static let sortingPendingChangesWithIdentifiers = SwiftDataError(
    .sortingPendingChangesWithIdentifiers)
  /// Two configurations have one name or one file.
  public static let duplicateConfiguration = SwiftDataError(.duplicateConfiguration)
  /// The file of a configuration would have too long a name.
  public static let configurationFileNameTooLong = SwiftDataError(.configurationFileNameTooLong)
  /// The name of a configuration cannot be one of a file.
  public static let configurationFileNameContainsInvalidCharacters = SwiftDataError(
    .configurationFileNameContainsInvalidCharacters)
  /// A configuration has models that the container does not have.
  public static let configurationSchemaNotFoundInContainerSchema = SwiftDataError(
    .configurationSchemaNotFoundInContainerSchema)
  /// A store cannot be opened, made or migrated.
  public static let loadIssueModelContainer = SwiftDataError(.loadIssueModelContainer)
  /// The models contradict themselves.
  public static let modelValidationFailure = SwiftDataError(.modelValidationFailure)
  /// A model is in no context that could be asked.
  public static let missingModelContext = SwiftDataError(.missingModelContext)
  /// The store is of a later version than the program's.
  public static let backwardMigration = SwiftDataError(.backwardMigration)
  /// The store is of a version that the migration plan does not have.
  public static let unknownSchema = SwiftDataError(.unknownSchema)
  /// The history that the token begins at has been deleted.
  public static let historyTokenExpired = SwiftDataError(.historyTokenExpired)
  /// A fetch of history cannot be asked of the store.
  public static let invalidTransactionFetchRequest = SwiftDataError(.invalidTransactionFetchRequest)
  /// A custom store does not know the models.
  public static let unknownDataStoreSchema = SwiftDataError(.unknownDataStoreSchema)

  /// Lets `catch SwiftDataError.unsupportedPredicate` match.
  public static func ~= (pattern: SwiftDataError, error: any Error) -> Bool {
    (error as? SwiftDataError) == pattern
  }
}

extension SwiftDataError: CustomStringConvertible, LocalizedError {
  public var description: String { reason.isEmpty ? kind.rawValue : "\(kind.rawValue): \(reason)" }
  public var errorDescription: String? { description }
}
