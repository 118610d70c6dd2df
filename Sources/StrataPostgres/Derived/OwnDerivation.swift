import Foundation
import StrataCore

/// What can be derived of a row without asking the server: from its own values and the time.
struct OwnDerivation {
  private let mapping: StoreMapping
  private let now: Date
  private let reviser: RowReviser

  init(_ mapping: StoreMapping, now: Date) {
    self.mapping = mapping
    self.now = now
    reviser = RowReviser(mapping)
  }

  /// A new row with its derived values as they are while nothing refers to it; nil when it has none.
  /// - Throws: ``StorageError`` when a row cannot be made.
  func insert(_ change: RowChange) throws -> RowChange? {
    let entity = mapping.schema.entities[change.entity]
    guard let baseline = entity.baselineSlot else { return nil }
    var values: [Int: AttributeValue] = [baseline: .null]
    for derived in entity.derived {
      switch derived.source {
      case .now: values[derived.slot] = .date(now)
      case .own(let slot): values[derived.slot] = derived.formed(change.value(slot, of: entity) ?? .null)
      case .across: values[derived.slot] = .null
      case .count:
        values[derived.slot] = try derived.fitted(.integer(0), of: entity, primaryKey: change.primaryKey)
      case .sum(let relationship, let slot):
        let destination = mapping.schema.relationships[relationship].destination
        let type = mapping.schema.entities[destination].attributes[slot].type
        values[derived.slot] = try derived.sum(DerivedSum(type), of: entity, primaryKey: change.primaryKey)
      }
    }
    return try revised(change, entity, version: change.row.version, values)
  }

  /// A changed row with what follows from its changes; nil when that is nothing. Where others have changed derived values of the row since, it gets a version
  /// behind theirs.
  /// - Throws: ``StorageError`` when a row cannot be made.
  func update(_ change: RowChange, stored: RowSnapshot?) throws -> RowChange? {
    let entity = mapping.schema.entities[change.entity]
    guard let baseline = entity.baselineSlot else { return nil }
    var values: [Int: AttributeValue] = [:]
    for derived in entity.derived {
      switch derived.source {
      case .now: values[derived.slot] = .date(now)
      case .own(let slot):
        guard change.changedSlots.contains(slot), let source = change.value(slot, of: entity) else {
          continue
        }
        let value = derived.formed(source)
        if case .value(value) = change.row.content(derived.slot, of: entity) { continue }
        values[derived.slot] = value
      case .across, .count, .sum: continue
      }
    }
    // What is saved now is what saves are based on from now on.
    if [change.row, stored].contains(where: { $0.map { !Self.isNull($0, baseline, entity) } ?? false }) {
      values[baseline] = .null
    }
    let version = max(change.row.version, (stored?.version ?? 0) + 1)
    if values.isEmpty, version == change.row.version { return nil }
    return try revised(change, entity, version: version, values)
  }

  private static func isNull(_ row: RowSnapshot, _ slot: Int, _ entity: EntitySchema) -> Bool {
    if case .value(.null) = row.content(slot, of: entity) { return true }
    return false
  }

  private func revised(
    _ change: RowChange, _ entity: EntitySchema, version: UInt32, _ values: [Int: AttributeValue]
  ) throws -> RowChange {
    let (row, externals) = try reviser.revised(
      change.row, of: entity, primaryKey: change.primaryKey, version: version, values,
      externals: change.externals)
    var slots = change.changedSlots
    for slot in values.keys { slots.insert(slot) }
    return RowChange(
      entity: change.entity, primaryKey: change.primaryKey, baseVersion: change.baseVersion, row: row,
      externals: externals, changedSlots: slots)
  }
}
