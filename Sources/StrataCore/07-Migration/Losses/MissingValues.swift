import Foundation

/// Values that rows must have in another version of the model, that they have not, and that no default value stands for.
package struct MissingValues: Sendable {
  /// What is missing, once for each attribute.
  private struct Missing: Sendable {
    let value: MigrationPlan.NeededValue
    let entity: String
    let first: UInt64
    var count: Int

    var sentence: String {
      let objects = count == 1 ? "1 object has none," : "\(count) objects have none, the first is"
      return "\(value.words): \(objects) \(entity)/p\(first)"
    }
  }

  private var missing: [Missing] = []

  package init() {}

  /// Notes that `count` rows of an entity of the source lack a value; `first` is the key of the first of them.
  package mutating func add(
    _ value: MigrationPlan.NeededValue, of entity: EntitySchema, first: UInt64, count: Int = 1
  ) {
    // Entities that inherit an attribute lack the same one.
    if let place = missing.firstIndex(where: { $0.value.name == value.name }) {
      missing[place].count += count
    } else {
      missing.append(Missing(value: value, entity: entity.name, first: first, count: count))
    }
  }

  /// A sentence without its end for each attribute; none when nothing is missing.
  package var reasons: [String] { missing.map(\.sentence) }

  /// - Throws: `CoreDataError` 134110 that names the attributes, how many objects lack them, and the first of those.
  package func requireNone() throws {
    guard let first = missing.first else { return }
    let text = reasons.joined(separator: "; ")
    throw CoreDataError(
      .migration,
      "The store cannot be migrated, since objects lack values that they must have: \(text). Nothing was changed by it. "
        + "Give the attributes default values, or have a custom stage fill them before.",
      userInfo: [
        "reason": text, InferredMappingModel.reasonsKey: reasons, "entity": first.entity,
        "attribute": first.value.name.split(separator: ".", maxSplits: 1).last.map { String($0) } ?? "",
      ])
  }
}

extension MissingValues {
  /// Looks at the rows of the hierarchies that are concerned, in the view that the migration itself reads.
  ///
  /// - Throws: `CancellationError` when `progress` was cancelled; ``StorageError``.
  init(in rows: SourceRows, _ progress: BatchProgress) throws {
    self.init()
    let plan = rows.plan
    for hierarchy in plan.source.hierarchies
    where hierarchy.memberNumbers.contains(where: { plan.entities[$0]?.needed.isEmpty == false }) {
      var next: UInt64? = 0
      while let key = next {
        var steps = 0
        var found: [(MigrationPlan.NeededValue, EntitySchema, UInt64)] = []
        next = try rows.walk(hierarchy.number, from: key) { row, key, reader, transaction in
          steps += 1
          if let entity = plan.entities[row.entity] {
            for value in entity.needed where Self.isMissing(value, in: row) {
              found.append((value, entity.source, key))
            }
          }
          return steps < RowMigration.rowsPerStep
        }
        for (value, entity, key) in found { add(value, of: entity, first: key) }
        try progress.stopIfCancelled()
      }
    }
  }

  private static func isMissing(_ value: MigrationPlan.NeededValue, in row: StoredRow) -> Bool {
    let isNeeded = value.owner.isEmpty || value.owner.contains { !RowBytes.isNil(row.base, $0) }
    return isNeeded && value.slots.allSatisfy { RowBytes.isNil(row.base, $0) }
  }
}
