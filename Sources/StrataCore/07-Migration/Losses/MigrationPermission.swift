/// What a migration by inference may take away from a store.
///
/// What takes nothing away needs no permission. What does is done only when the program knows the model that the store is of and the store
/// has not been of the program's version before; or when each thing is permitted by name.
///
///     var permission = MigrationPermission()
///     permission.knownModels = [theModelBefore]          // this program follows the one that wrote the store
///     permission.permittedLosses = ["Trip.rating"]       // or: these values may go, whichever program wrote them
///
/// A model that was read from an `.xcdatamodeld` knows the other versions in it; stages vouch for the versions in them.
public struct MigrationPermission: Sendable {
  /// Models that the program knows besides those beside its own: earlier versions, made in code.
  public var knownModels: [ManagedObjectModel]
  /// What may be lost: `Entity` for the objects of an entity that goes, `Entity.property` for values, members or order of a property, by the
  /// names that they have in the store's model. Elements of composite attributes by their key paths.
  public var permittedLosses: Set<String>

  /// Whether it is certain already that the program knows the store's model: stages, a migration manager.
  var knowsSource = false
  /// Whether it is a copy that is migrated: what it loses, the original has.
  var isForCopy = false
  /// Whether nothing may be lost, whatever the program knows.
  var losesNothing = false

  /// Without anything, only what takes nothing away is done, and what the model's own `.xcdatamodeld` tells.
  public init(knownModels: [ManagedObjectModel] = [], permittedLosses: Set<String> = []) {
    self.knownModels = knownModels
    self.permittedLosses = permittedLosses
  }
}

extension MigrationPermission {
  /// The key of what would be lost, in the user info of the error that refuses a migration: a dictionary of the names that
  /// ``permittedLosses`` takes, with the numbers of objects.
  public static let lossesKey = "NSMigrationLosses"
  /// In the same user info, the sentences that say what would be lost, without advice.
  package static let lossesTextKey = "NSMigrationLossesText"
  /// In the same user info, whether the store has been of the program's version before.
  package static let wasOfVersionKey = "NSMigrationWasOfVersion"
}
