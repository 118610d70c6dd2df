import Foundation

/// What bringing a store to another version of its model would do, found out without writing anything.
package struct MigrationPreview: Sendable {
  /// Something that the store would lose.
  package struct Loss: Sendable, Equatable {
    /// What it is called where it is permitted: `Entity`, `Entity.attribute` or `Entity.relationship`.
    package let name: String
    /// What goes, in a word: objects, values, links or order.
    package let kind: String
    /// How many objects are concerned.
    package let objectCount: Int
  }

  /// Whether the store is of that version already.
  package let isSame: Bool
  /// What differs, a sentence for each entity.
  package let differences: [String]
  /// Why the migration cannot be inferred, or which values objects lack that they must have; empty when it can be made.
  package let reasons: [String]
  /// What happens to each entity, with the number of the store's objects of it, those of subentities left out.
  package let entities: [(change: InferredMappingModel.Entity, objectCount: Int)]
  /// What would be lost, by name.
  package let losses: [Loss]
  /// Why all rows would be written anew; nil when none would be touched.
  package let rewriting: String?

  /// Compares the store with `model`. Walks over the rows of entities that would lose something, and counts all others.
  /// - Throws: ``StorageError``, ``ModelError``.
  package init(of window: StoreWindow, to model: ManagedObjectModel) throws {
    let (store, source) = (window.store, window.schema)
    let destination = try model.schema()
    let held = Set(store.metadata.versionHashes.keys)
    let hashes = source.entities.reduce(into: [String: Data]()) { result, entity in
      if held.contains(entity.name) { result[entity.name] = entity.versionHash }
    }
    let wanted = destination.entities.reduce(into: [String: Data]()) { $0[$1.name] = $1.versionHash }
    isSame = hashes == wanted
    differences = isSame ? [] : ModelDifference.sentences(from: source.model, to: model)
    let pairing = ModelPairing(source.model, model, held: held)
    let obstacles = isSame ? [] : InferenceCheck(pairing).reasonsBesidesRows()
    guard !isSame, obstacles.isEmpty else {
      (reasons, entities, losses, rewriting) = (obstacles, [], [], nil)
      return
    }
    let plan = try MigrationPlan(pairing, from: source, holding: held, to: destination)
    let hasNeeded = plan.entities.contains { $0?.needed.isEmpty == false }
    reasons =
      hasNeeded
      ? try MissingValues(
        in: SourceRows(plan: plan, snapshot: try window.inFile().snapshot), BatchProgress()
      ).reasons : []
    if !reasons.isEmpty {
      (entities, losses, rewriting) = ([], [], nil)
      return
    }
    let lossPlan = LossPlan(pairing, plan)
    rewriting = try Self.obstacle(window, pairing, plan, lossPlan)
    var count = LossCount(
      lossPlan, SourceRows(plan: plan, snapshot: try window.inFile().snapshot), progress: BatchProgress())
    try count.run()
    var found: [LossPlan.Loss.Kind: [String: Int]] = [:]
    for (loss, number) in zip(lossPlan.losses, count.counts) where number > 0 {
      found[loss.kind, default: [:]][loss.name, default: 0] += number
    }
    losses = found.flatMap { kind, names in
      names.map { Loss(name: $0.key, kind: kind.word, objectCount: $0.value) }
    }.sorted { ($0.name, $0.kind) < ($1.name, $1.kind) }
    let counts = try Self.objectCounts(window)
    entities = InferredMappingModel(pairing).entities.map { change in
      (change, change.sourceName.flatMap { counts[$0] } ?? 0)
    }
  }

  private static func obstacle(
    _ window: StoreWindow, _ pairing: ModelPairing, _ plan: MigrationPlan, _ losses: LossPlan
  ) throws -> String? {
    let (catalogue, versions) = try window.inFile().snapshot.read { reader, transaction in
      (reader.catalogue, try reader.parts.storedVersions(transaction))
    }
    guard let versions else { return "the store does not say which version it is of" }
    do {
      _ = try InPlaceChange(pairing, plan, losses, catalogue, versions)
      return nil
    } catch {
      return error.reason
    }
  }

  /// By entity, how many objects there are of exactly that entity.
  /// - Throws: ``StorageError``.
  package static func objectCounts(_ window: StoreWindow) throws -> [String: Int] {
    var counts: [String: Int] = [:]
    for hierarchy in window.schema.hierarchies {
      let concrete = hierarchy.memberNumbers.filter { !window.schema.entities[$0].isAbstract }
      if concrete.count == 1 {
        counts[window.schema.entities[concrete[0]].name] = try window.rowCount(of: hierarchy.number)
        continue
      }
      for number in concrete {
        let entity = window.schema.entities[number]
        var request = FetchRequest<Int>(entityName: entity.name)
        request.includesSubentities = false
        counts[entity.name] = try window.reading.fetch(
          ResolvedFetchRequest(request, schema: window.schema), mode: .count
        ).count
      }
    }
    return counts
  }
}

extension LossPlan.Loss.Kind {
  fileprivate var word: String {
    switch self {
    case .object: "objects"
    case .value: "values"
    case .members: "links"
    case .order: "order"
    }
  }
}

/// How one model differs from another, without a store.
package struct ModelComparison: Sendable {
  /// Whether all entities have the same hashes.
  package let isSame: Bool
  /// What differs, a sentence for each entity.
  package let differences: [String]
  /// Why a migration cannot be inferred, whatever objects there are.
  package let reasons: [String]
  /// What happens to each entity, in words.
  package let changes: [String]

  /// Compares the models.
  /// - Throws: ``ModelError`` for one that cannot be used.
  package init(_ old: ManagedObjectModel, _ new: ManagedObjectModel) throws {
    let (source, destination) = (try old.schema(), try new.schema())
    func hashes(_ schema: Schema) -> [String: Data] {
      schema.entities.reduce(into: [:]) { $0[$1.name] = $1.versionHash }
    }
    isSame = hashes(source) == hashes(destination)
    differences = isSame ? [] : ModelDifference.sentences(from: old, to: new)
    let pairing = ModelPairing(old, new)
    reasons = isSame ? [] : InferenceCheck(pairing).reasons()
    changes = isSame || !reasons.isEmpty ? [] : InferredMappingModel(pairing).entities.map(\.description)
  }
}
