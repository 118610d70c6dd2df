import Foundation
import Synchronization

/// The codes a store uses for what the schema numbers: which entity a row's code means, which layout its layout
/// number, which indexes are complete.
///
/// An immutable value of one moment. It only ever grows, but another process may have let it grow: the stored
/// `generation` tells.
final class StoreCatalogue: Sendable {
  let generation: UInt64
  let schema: Schema
  /// By entity number: the code in rows; 0 for entities the store does not know.
  let entityCodes: [UInt16]
  /// By code: the entity number, -1 for codes the schema does not know.
  let entityNumbers: [Int32]
  /// By entity number: the number of the layout the schema has now; 0 for none.
  let layoutNumbers: [UInt16]
  /// All layouts of the store.
  let layouts: [UInt16: RowLayout]
  /// By hierarchy number: the code in keys of large values; 0 for none.
  let hierarchyCodes: [UInt16]
  /// By entity number and slot: the attribute's code in keys of large values; 0 for none.
  let attributeCodes: [[UInt16]]
  /// All attribute names with codes, for layouts of earlier models.
  let attributeCodesByName: [String: UInt16]
  /// The codes of relationships in keys of edges, and what follows from them.
  let relationships: RelationshipCodes
  /// The indexes, the schema's and those added to the store.
  let indexes: StoredIndexes
  /// Where the store's history is; nil while it records none, and while this process has not opened it.
  let history: Keyspace?
  /// Names of keyspaces that this process has to open: of indexes, and of the history.
  let missingKeyspaces: [String]
  /// The same by code, for loops. Made in `init`, never changed: hence unsafe and Sendable.
  nonisolated(unsafe) let codes: RowCodes
  /// Whether another process has brought the store to another version of its model since it was opened here: then nothing is written to it.
  let isOfOtherVersion: Bool
  /// By code of the entity: what rows of earlier layouts show where they lack a slot.
  let fills: [UInt16: RowFill]
  private let transcoders = Mutex<[TranscoderKey: RowTranscoder]>([:])

  private struct TranscoderKey: Hashable {
    let layoutNumber: UInt16
    let entity: Int
  }

  /// Reads the catalogue as it is stored.
  ///
  /// - Parameter open: The keyspaces that are valid in the transactions it is for.
  /// - Throws: ``StorageError`` of kind `damaged` for an unreadable layout.
  init(
    _ parts: StoreParts, layouts table: LayoutTable, open: [Keyspace],
    _ transaction: borrowing ReadTransaction
  ) throws {
    let (schema, meta, path) = (parts.schema, parts.meta, parts.environment.path)
    let entities = try meta.codes("entity/", transaction)
    let attributes = try meta.codes("attribute/", transaction)
    let hierarchies = try meta.codes("hierarchy/", transaction)
    var layouts: [UInt16: RowLayout] = [:]
    var numbers: [String: UInt16] = [:]
    for (name, value) in try meta.entries("layout/", transaction) {
      let signature = String(decoding: value, as: UTF8.self)
      guard let number = UInt16(name), let layout = try? table.layout(signature: signature) else {
        throw StorageError(
          .damaged, operation: "read catalogue", path: path, detail: "The row layout \(name) is unreadable.")
      }
      layouts[number] = layout
      numbers[signature] = number
    }
    var fills: [UInt16: RowFill] = [:]
    for (name, value) in try meta.entries(RowFill.prefix, transaction) {
      guard let code = UInt16(name), let fill = RowFill(value) else {
        throw StorageError(
          .damaged, operation: "read catalogue", path: path,
          detail: "What older rows of the entity with code \(name) show in new attributes is unreadable.")
      }
      fills[code] = fill
    }
    self.fills = fills
    isOfOtherVersion = try parts.isOfOtherVersion(transaction)
    var entityNumbers = [Int32](repeating: -1, count: Int(entities.values.max() ?? 0) + 1)
    for entity in schema.entities {
      if let code = entities[entity.name] { entityNumbers[Int(code)] = Int32(entity.number) }
    }
    self.schema = schema
    self.layouts = layouts
    self.entityNumbers = entityNumbers
    generation = try meta.number("generation", UInt64.self, transaction) ?? 0
    entityCodes = schema.entities.map { entities[$0.name] ?? 0 }
    layoutNumbers = schema.entities.map { numbers[$0.layout.signature] ?? 0 }
    hierarchyCodes = schema.hierarchies.map { hierarchies[$0.rootName] ?? 0 }
    attributeCodesByName = attributes
    attributeCodes = schema.entities.map { $0.attributes.map { attributes[$0.name] ?? 0 } }
    relationships = RelationshipCodes(
      schema, codesByName: try meta.codes("relationship/", transaction), entityCodes: entityCodes)
    let indexes = try StoredIndexes(parts, transaction, open: open)
    self.indexes = indexes
    let recordsHistory = try meta.bytes(HistoryFormat.metaKey, transaction) != nil
    let history = recordsHistory ? open.first { $0.name == HistoryFormat.keyspaceName } : nil
    self.history = history
    missingKeyspaces =
      indexes.missingKeyspaces + (recordsHistory && history == nil ? [HistoryFormat.keyspaceName] : [])
    codes = Self.makeCodes(entityNumbers, layoutNumbers, schema)
  }

  deinit { UnsafeMutablePointer(mutating: codes.entries).deallocate() }

  private static func makeCodes(
    _ entityNumbers: [Int32], _ layoutNumbers: [UInt16], _ schema: Schema
  ) -> RowCodes {
    let entries = UnsafeMutablePointer<RowCodes.Entry>.allocate(capacity: max(entityNumbers.count, 1))
    // A model without entities knows no code, and has no layout to stand in for those it does not know.
    if schema.entities.isEmpty { return RowCodes(entries: entries, count: 0) }
    for (code, number) in entityNumbers.enumerated() {
      // Entries of unknown codes are never looked into beyond their number.
      let entity = schema.entities[max(0, Int(number))]
      let layout = entity.layout
      (entries + code).initialize(
        to: RowCodes.Entry(
          entity: number, hierarchy: Int32(entity.hierarchyNumber),
          layoutNumber: number < 0 ? 0 : layoutNumbers[Int(number)],
          fixedEnd: Int32(layout.fixedEnd), layout: .passUnretained(layout), table: layout.table))
    }
    return RowCodes(entries: entries, count: entityNumbers.count)
  }

  /// The entity a row's code means; nil for a code the schema does not know.
  @inline(__always)
  func entity(code: UInt16) -> Int? {
    guard Int(code) < entityNumbers.count else { return nil }
    let number = entityNumbers[Int(code)]
    return number < 0 ? nil : Int(number)
  }

  /// What rewrites rows of an older layout in the one the entity has now. Made once.
  func transcoder(from old: RowLayout, number: UInt16, entity: Int) throws(RowError) -> RowTranscoder {
    let key = TranscoderKey(layoutNumber: number, entity: entity)
    if let known = transcoders.withLock({ $0[key] }) { return known }
    let schema = schema.entities[entity]
    var (defaults, middle): ([AttributeValue], RowLayout?) = (schema.defaults, nil)
    if let fill = fills[entityCodes[entity]] {
      defaults = try fill.values(layouts, for: schema)
      middle = fill.detour(from: number, to: layoutNumbers[entity], layouts)
    }
    let transcoder = try RowTranscoder(from: old, by: middle, to: schema.layout, defaults: defaults)
    transcoders.withLock { $0[key] = transcoder }
    return transcoder
  }

  /// Whether everything the held entities need is there.
  func isComplete(for held: [Bool]) -> Bool {
    for entity in schema.entities where held[entity.number] {
      if entityCodes[entity.number] == 0 || layoutNumbers[entity.number] == 0 { return false }
      if hierarchyCodes[entity.hierarchyNumber] == 0 { return false }
      if attributeCodes[entity.number].contains(0) { return false }
      for relationship in entity.relationships where !relationship.isTransient {
        if relationships.codes[relationship.number] == 0 { return false }
      }
    }
    return true
  }

  /// Adds the codes and layouts that held entities lack, and raises the generation. The caller reads the
  /// catalogue again afterwards, in the same transaction.
  func addMissing(
    held: [Bool], meta: MetaKeyspace, _ transaction: borrowing WriteTransaction, path: String
  ) throws {
    var entities = CodeSource(taken: try meta.codes("entity/", transaction.read))
    var attributes = CodeSource(taken: attributeCodesByName)
    var hierarchies = CodeSource(taken: try meta.codes("hierarchy/", transaction.read))
    var relationships = CodeSource(taken: self.relationships.codesByName, limit: EdgeKey.largestCode)
    var layoutNumber = layouts.keys.max() ?? 0
    var signatures = Set(layouts.values.map(\.signature))
    for entity in schema.entities where held[entity.number] {
      try entities.add(entity.name, "entity/", meta, transaction)
      try hierarchies.add(
        schema.hierarchies[entity.hierarchyNumber].rootName, "hierarchy/", meta, transaction)
      for attribute in entity.attributes {
        try attributes.add(attribute.name, "attribute/", meta, transaction)
      }
      for relationship in entity.relationships where !relationship.isTransient {
        try relationships.add(relationship.storedName, "relationship/", meta, transaction)
      }
      if signatures.insert(entity.layout.signature).inserted {
        guard layoutNumber < .max else {
          throw StorageError(
            .tooLarge, operation: "add layout", path: path, detail: "The store has too many layouts.")
        }
        layoutNumber += 1
        try meta.put(Self.layoutKey(layoutNumber), entity.layout.signature.utf8, transaction)
      }
    }
    try Self.raiseGeneration(meta, transaction)
  }

  /// What stands for the name of a code that only the history uses, since what had it is gone: no name of a model.
  static func lostName(_ code: UInt16) -> String { lostPrefix + String(code) }
  static let lostPrefix = "\u{1}"

  static func layoutKey(_ number: UInt16) -> String { "layout/" + MetaKeyspace.digits(number, 5) }

  static func raiseGeneration(_ meta: MetaKeyspace, _ transaction: borrowing WriteTransaction) throws {
    let generation = try meta.number("generation", UInt64.self, transaction.read) ?? 0
    guard generation < CommitStamp.limit else {
      throw StorageError(
        .damaged, operation: "raise generation", path: "", detail: "The generation \(generation) is damaged.")
    }
    try meta.put("generation", number: generation + 1, transaction)
  }
}

/// Gives names codes, from 1 on.
private struct CodeSource {
  var taken: [String: UInt16]
  var last: UInt16
  let limit: UInt16

  init(taken: [String: UInt16], limit: UInt16 = .max) {
    self.taken = taken
    self.limit = limit
    last = taken.values.max() ?? 0
  }

  mutating func add(
    _ name: String, _ prefix: String, _ meta: MetaKeyspace, _ transaction: borrowing WriteTransaction
  ) throws {
    guard taken[name] == nil else { return }
    guard last < limit, name.utf8.count < 480 else {
      throw StorageError(
        .tooLarge, operation: "add code", path: "", detail: "The name “\(name)” is too long or one too many.")
    }
    last += 1
    taken[name] = last
    try meta.put(prefix + name, number: last, transaction)
  }
}
