import Foundation

/// What can be inferred of a migration, for engines that change their stores by means of their own.
package struct InferredMigration: Sendable {
  /// From the slots and relationships of the store's model to those of the other.
  package let plan: MigrationPlan
  /// What there is no place for.
  package let losses: LossPlan
  /// By what names a history goes on.
  package let names: [HistoryNames]
  private let indexNames: AddedIndexNames

  /// - Parameters:
  ///   - source: The store's own model.
  ///   - held: The names of the entities that the store holds.
  ///   - destination: The version that the store is to be of.
  /// - Throws: `CoreDataError` 134190 with all reasons when it cannot be inferred; for a default value that its transformer refuses. Whether rows lack values that they
  ///   must have is for the engine to find out, see ``MigrationPlan/Entity/needed`` and ``MissingValues``.
  package init(from source: Schema, holding held: Set<String>, to destination: Schema) throws {
    let pairing = ModelPairing(source.model, destination.model, held: held)
    try InferredMappingModel.require(pairing)
    plan = try MigrationPlan(pairing, from: source, holding: held, to: destination)
    losses = LossPlan(pairing, plan)
    names = HistoryNames.all(pairing, from: source, to: destination)
    indexNames = AddedIndexNames(pairing)
  }

  /// An index that was added to the store, with the names of the other version; nil when its entity or an attribute of it goes, or that version declares an index
  /// of its name.
  package func kept(_ index: AddedIndex, in schema: Schema) -> AddedIndex? {
    indexNames.kept(index, in: schema)
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

/// By what names indexes that were added to a store go on in another version of its model.
struct AddedIndexNames: Sendable {
  private struct Entity: Sendable {
    let name: String
    /// By the name that a property had, the one that it has.
    let properties: [String: String]
  }

  private let entities: [String: Entity]

  init(_ pairing: ModelPairing) {
    let pairs = pairing.pairs.compactMap { pair -> (String, Entity)? in
      guard let source = pair.source.name else { return nil }
      let properties = Dictionary(
        (pair.attributes + pair.relationships).compactMap { pair in
          pair.source.map { ($0.name, pair.destination.name) }
        },
        uniquingKeysWith: { first, _ in first })
      return (source, Entity(name: pair.destination.name ?? "", properties: properties))
    }
    entities = Dictionary(pairs) { first, _ in first }
  }

  /// The index with the names of the other version; nil when its entity or an attribute of it goes, or that version declares an index of its name.
  func kept(_ index: AddedIndex, in schema: Schema) -> AddedIndex? {
    guard let entity = entities[index.entity] else { return nil }
    var new = index
    new.entity = entity.name
    for place in new.elements.indices {
      guard let name = entity.properties[new.elements[place].property] else { return nil }
      new.elements[place].property = name
    }
    // A predicate is text: it stays as it is, or goes with the index.
    if let keys = new.condition?.keys, !keys.allSatisfy({ entity.properties[$0] == $0 }) { return nil }
    let isDeclared = schema.indexes.contains { $0.name == new.qualifiedName }
    guard !isDeclared, (try? new.checked(schema)) != nil else { return nil }
    return new
  }
}
