import Foundation

/// Decides which bytes of a damaged store are rows, and makes them rows of the new one.
struct SalvageReader {
  /// A row that passed every check.
  struct Found {
    let hierarchy: Int
    let entity: Int
    let primaryKey: UInt64
    /// In the layout of the new store, with references to large values as they were.
    let row: RowSnapshot
    /// By slot of the new layout, the name of the slot it came from.
    let oldNames: [String]
  }

  let schema: Schema
  private let codes: SalvageCodes
  private let stamps: [RowStamp]
  private let entities: [UInt16: Int]
  private let transcoders = Transcoders()

  /// What rewrites rows, made once per entity and layout; used by the one thread that salvages.
  private final class Transcoders {
    var byCode: [UInt32: RowTranscoder] = [:]
  }

  init(schema: Schema, codes: SalvageCodes, store: LMDBStore) {
    self.schema = schema
    self.codes = codes
    stamps = schema.entities.map { store.rowStamp(entity: $0.number) }
    // A store of one configuration has no rows of the others' entities.
    entities = codes.entityNames.compactMapValues { schema.entity(named: $0)?.number }
      .filter { store.parts.held[$0.value] }
  }

  /// The row that these bytes are under this key; nil when anything about them is not right.
  func row(_ key: [UInt8], _ bytes: [UInt8]) -> Found? {
    guard let primaryKey = key.withUnsafeBytes({ PrimaryKeyBytes.whole($0) }), primaryKey > 0,
      primaryKey < PrimaryKeyAllocator.limit
    else { return nil }
    return bytes.withUnsafeBytes { bytes in
      guard bytes.count >= RowFormat.headerLength, let base = bytes.baseAddress,
        let entity = entities[RowBytes.entityCode(base)],
        let old = codes.layouts[RowBytes.layoutNumber(base)],
        (try? RowDecoder.validate(bytes, primaryKey: primaryKey, layout: old)) != nil
      else { return nil }
      let description = schema.entities[entity]
      var writer = RowSlabWriter(expectedLength: bytes.count)
      guard let transcoder = transcoder(RowBytes.layoutNumber(base), old, description),
        let row = try? transcoder.transcode(
          bytes, primaryKey: primaryKey, stamp: stamps[entity], into: &writer)
      else { return nil }
      let oldNames = description.attributes.map { attribute in
        transcoder.source(of: attribute.slot).map { old.slots[$0].name } ?? attribute.name
      }
      return Found(
        hierarchy: description.hierarchyNumber, entity: entity, primaryKey: primaryKey, row: row,
        oldNames: oldNames)
    }
  }

  private func transcoder(_ number: UInt16, _ old: RowLayout, _ entity: EntitySchema) -> RowTranscoder? {
    let code = UInt32(entity.number) << 16 | UInt32(number)
    if let known = transcoders.byCode[code] { return known }
    let fill = entities.first { $0.value == entity.number }.flatMap { codes.fills[$0.key] }
    let defaults = fill.flatMap { try? $0.values(codes.layouts, for: entity) } ?? entity.defaults
    let own = codes.layouts.first { $0.value.signature == entity.layout.signature }?.key ?? 0
    let middle = fill?.detour(from: number, to: own, codes.layouts)
    let made = try? RowTranscoder(from: old, by: middle, to: entity.layout, defaults: defaults)
    transcoders.byCode[code] = made
    return made
  }

  func description(of found: Found) -> SalvageReport.Row {
    SalvageReport.Row(
      entityName: schema.entities[found.entity].name, primaryKey: found.primaryKey, version: found.row.version
    )
  }

  /// The row as an insert, with its large values and references; and the properties whose values are lost.
  func change(
    _ found: Found, _ largeValue: (LargeValueKey, UInt64) throws -> [UInt8]?
  ) throws -> (RowChange, lost: [String]) {
    let entity = schema.entities[found.entity]
    var row = found.row
    var externals: [ExternalValue] = []
    var lost: [String] = []
    let draft = RowDraft.make(entity.layout)
    // References carry the old store's codes of entities.
    let references = self.references(found)
    for (slot, reference) in references {
      draft[slot] = reference.map { .reference($0) } ?? .null
      if reference == nil { lost.append(entity.attributes[slot].name) }
    }
    for slot in 0..<(row.hasExternalValues ? entity.layout.slotCount : 0) {
      guard let reference = row.externalReference(slot, entity.layout) else { continue }
      if let bytes = try value(found, slot, reference, largeValue) {
        externals.append(ExternalValue(slot: slot, bytes: Data(bytes)))
      } else {
        lost.append(entity.attributes[slot].name)
        draft[slot] = .null
      }
    }
    // One that has become too long by defaults has values moved out of it.
    if !lost.isEmpty || !references.isEmpty || Int(row.count) > RowFormat.maximumRowLength {
      var writer = RowSlabWriter()
      let (encoded, moved) = try RowEncoder.encode(
        layout: entity.layout, stamp: stamps[found.entity], primaryKey: found.primaryKey,
        version: row.version,
        base: row, draft: draft, into: &writer)
      row = encoded
      externals += moved
    }
    let change = RowChange(
      entity: found.entity, primaryKey: found.primaryKey, baseVersion: 0, row: row, externals: externals,
      changedSlots: SlotBitmap(allBelow: entity.attributes.count))
    return (change, lost)
  }

  /// The references of a row that must be written again: by slot, with the new store's codes; nil for a damaged one.
  private func references(_ found: Found) -> [(slot: Int, reference: UInt64?)] {
    let layout = schema.entities[found.entity].layout
    return schema.entities[found.entity].relationships.compactMap { relationship in
      guard layout.kind(of: relationship.slot) == .reference,
        case .reference(let old)? = found.row.value(relationship.slot, layout)
      else { return nil }
      let entity = entities[Reference.entityCode(old)]
      let isAllowed = entity.map { schema.entities[relationship.destination].subtree.contains($0) } ?? false
      guard let entity, isAllowed, Reference.primaryKey(old) > 0 else { return (relationship.slot, nil) }
      let new = Reference.bits(Reference.primaryKey(old), entityCode: stamps[entity].entityCode)
      return new == old ? nil : (relationship.slot, new)
    }
  }

  private func value(
    _ found: Found, _ slot: Int, _ reference: ExternalReference,
    _ largeValue: (LargeValueKey, UInt64) throws -> [UInt8]?
  ) throws -> [UInt8]? {
    let entity = schema.entities[found.entity]
    guard let hierarchy = codes.hierarchyCodes[schema.hierarchies[found.hierarchy].rootName] else {
      return nil
    }
    for name in Set([entity.attributes[slot].name, found.oldNames[slot]]) {
      guard let attribute = codes.attributeCodes[name] else { continue }
      let key = LargeValueKey(
        hierarchyCode: hierarchy, primaryKey: found.primaryKey, attributeCode: attribute,
        version: reference.version)
      guard let bytes = try largeValue(key, reference.byteCount) else { continue }
      let kind = entity.layout.kind(of: slot)
      if kind != .data {
        // Large values have no checksum; what is no text any more is lost.
        guard let text = String(validating: bytes, as: UTF8.self), kind == .string || URL(string: text) != nil
        else { return nil }
      }
      return bytes
    }
    return nil
  }
}

/// Puts salvaged rows into the new store, some thousands at a time.
final class SalvageWriter {
  let store: LMDBStore
  private let progress: (SalvageProgress) throws -> Void
  private var pending: [(change: RowChange, row: SalvageReport.Row)] = []
  private var pendingBytes = 0
  private var rowCounts: [String: Int] = [:]
  private var leftOut: [SalvageReport.Row] = []
  private(set) var rowCount = 0

  init(store: LMDBStore, progress: @escaping (SalvageProgress) throws -> Void) {
    self.store = store
    self.progress = progress
  }

  /// Whether a row of that key was written.
  func hasRow(_ found: SalvageReader.Found) -> Bool {
    (try? store.row(hierarchy: found.hierarchy, primaryKey: found.primaryKey)) != nil
  }

  /// Takes a row.
  func add(_ change: RowChange, _ row: SalvageReport.Row) throws {
    pending.append((change, row))
    pendingBytes += Int(change.row.count) + change.externals.reduce(0) { $0 + $1.bytes.count }
    if pending.count >= 4_000 || pendingBytes > 32 << 20 { try flush() }
  }

  /// Writes what is pending; rows that violate a constraint are left out.
  func flush() throws {
    if pending.isEmpty { return }
    do {
      try commit(pending.map(\.change))
      for (_, row) in pending { count(row) }
    } catch is UniquenessViolation {
      for (change, row) in pending {
        do {
          try commit([change])
          count(row)
        } catch is UniquenessViolation {
          if leftOut.count < 10_000 { leftOut.append(row) }
        }
      }
    }
    pending = []
    pendingBytes = 0
    try progress(SalvageProgress(phase: "writing rows", rowCount: rowCount))
  }

  func complete(_ report: inout SalvageReport) {
    report.rowCounts = rowCounts
    report.leftOutRows = leftOut
  }

  private func count(_ row: SalvageReport.Row) {
    rowCount += 1
    rowCounts[row.entityName, default: 0] += 1
  }

  private func commit(_ changes: [RowChange]) throws {
    var inserts = ChangeSet(inserts: changes)
    // What they refer to may still come.
    inserts.checksReferences = false
    try store.commitAndWait(inserts)
  }
}
