import Foundation

/// What can be inferred of a migration, for engines that change their stores by means of their own.
package struct InferredMigration: Sendable {
  /// From the slots and relationships of the store's model to those of the other.
  package let plan: MigrationPlan
  /// What there is no place for.
  package let losses: LossPlan
  /// By what names a history goes on.
  package let names: [HistoryNames]

  /// - Parameters:
  ///   - source: The store's own model.
  ///   - held: The names of the entities that the store holds.
  ///   - destination: The version that the store is to be of.
  /// - Throws: `CoreDataError` 134190 with all reasons when it cannot be inferred; for a default value that its transformer refuses.
  package init(from source: Schema, holding held: Set<String>, to destination: Schema) throws {
    let pairing = ModelPairing(source.model, destination.model, held: held)
    try InferredMappingModel.require(pairing)
    plan = try MigrationPlan(pairing, from: source, holding: held, to: destination)
    losses = LossPlan(pairing, plan)
    names = HistoryNames.all(pairing, from: source, to: destination)
  }

  /// The versions that a store was of before, as a store keeps them: with one more.
  package static func lineage(_ checksums: [String], adding hashes: [String: Data]) -> [String] {
    let checksum = VersionHash.checksum(of: hashes)
    if checksums.contains(checksum) { return checksums }
    return Array((checksums + [checksum]).suffix(StoreLineage.most))
  }

  /// Whether anything is lost by the migration, which is permitted then.
  ///
  /// - Parameters:
  ///   - stored: The version that the store is of, by entity.
  ///   - wanted: The one that it is to be of.
  ///   - lineage: See ``lineage(_:adding:)``.
  ///   - findsAny: Whether anything would be lost.
  ///   - counts: How many objects lose what, by number of the loss.
  /// - Throws: `CoreDataError` 134130 and 134110 with everything that would be lost, see ``MigrationPermission``; what the closures throw.
  package func requirePermission(
    _ permission: MigrationPermission, stored: [String: Data], wanted: [String: Data], lineage: [String],
    findsAny: () throws -> Bool, counts: () throws -> [Int]
  ) throws -> Bool {
    let judge = LossJudge(
      permission: permission, model: plan.destination.model,
      stored: StoredVersions(hashes: stored, identifiers: []),
      wanted: StoredVersions(hashes: wanted, identifiers: []), lineage: try StoreLineage(checksums: lineage))
    return try judge.allows(losses, findsAny: findsAny, counts: counts)
  }
}

extension StoreLineage {
  /// - Throws: nothing but what encoding does.
  fileprivate init(checksums: [String]) throws {
    try self.init(encoded: JSONEncoder.sorted.encode(checksums))
  }
}
