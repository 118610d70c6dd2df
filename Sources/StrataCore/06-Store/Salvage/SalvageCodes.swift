import Foundation

/// What the keyspace "meta" of a damaged store still says: the model, and what the codes in rows mean.
struct SalvageCodes {
  /// Entries by key.
  private(set) var entries: [String: [UInt8]] = [:]
  /// Entries from loose pages; several values mean that it is unknown which is right.
  private var loose: [String: Set<[UInt8]>] = [:]

  private(set) var entityNames: [UInt16: String] = [:]
  private(set) var layouts: [UInt16: RowLayout] = [:]
  /// By code of the entity.
  private(set) var fills: [UInt16: RowFill] = [:]
  private(set) var attributeCodes: [String: UInt16] = [:]
  /// By root entity.
  private(set) var hierarchyCodes: [String: UInt16] = [:]
  /// By ``RelationshipSchema/storedName``.
  private(set) var relationshipCodes: [String: UInt16] = [:]

  private static let prefixes = [
    "entity/", "attribute/", "hierarchy/", "relationship/", "layout/", "counter/", RowFill.prefix,
  ]
  private static let names: Set = [
    "identity", "model", "metadata", "versions", "format", "stamp", StoreLineage.key,
  ]

  /// Takes over an entry that a tree led to.
  mutating func add(_ key: [UInt8], _ value: [UInt8]) {
    guard let name = String(validating: key, as: UTF8.self) else { return }
    entries[name] = value
  }

  /// Whether a loose entry looks like one of these.
  static func isMeta(_ key: [UInt8]) -> Bool {
    guard let name = String(validating: key, as: UTF8.self) else { return false }
    return names.contains(name) || prefixes.contains { name.hasPrefix($0) }
  }

  /// Takes over an entry from a loose page.
  mutating func addLoose(_ key: [UInt8], _ value: [UInt8]) {
    loose[String(decoding: key, as: UTF8.self), default: []].insert(value)
  }

  /// Fills gaps from loose pages where they agree. Codes and identity never change in a store, so any page is as
  /// good as the newest; of counters the largest is safe.
  mutating func settle() {
    for (name, values) in loose where entries[name] == nil {
      if name.hasPrefix("counter/") {
        entries[name] = values.filter { $0.count == 8 }.max {
          $0.reversed().lexicographicallyPrecedes($1.reversed())
        }
      } else if values.count == 1 {
        entries[name] = values.first
      }
    }
    for (name, value) in entries {
      if let number = Self.code(value) {
        if let entity = name.dropping("entity/") { entityNames[number] = entity }
        if let attribute = name.dropping("attribute/") { attributeCodes[attribute] = number }
        if let root = name.dropping("hierarchy/") { hierarchyCodes[root] = number }
        if let relationship = name.dropping("relationship/") { relationshipCodes[relationship] = number }
      }
      if let number = name.dropping("layout/").flatMap({ UInt16($0) }),
        let signature = String(validating: value, as: UTF8.self),
        let layout = try? RowLayout(signature: signature)
      {
        layouts[number] = layout
      }
      if let code = name.dropping(RowFill.prefix).flatMap({ UInt16($0) }), let fill = RowFill(value) {
        fills[code] = fill
      }
    }
  }

  /// The model in the store; nil when none can be decoded. A model is checked by the hashes it carries.
  func model() -> ManagedObjectModel? {
    let candidates = entries["model"].map { [$0] } ?? Array(loose["model"] ?? [])
    return candidates.lazy.compactMap { try? ModelCoding.decode(Data($0)) }.first {
      $0.forgetClasses()
      return (try? $0.schema()) != nil
    }
  }

  /// The number of the store's format.
  var format: UInt32? {
    guard let bytes = entries["format"], bytes.count == 4 else { return nil }
    return bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The store's identity.
  var identifier: UUID? {
    guard let bytes = entries["identity"], bytes.count == 16 else { return nil }
    return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
  }

  /// The user's metadata.
  var metadata: StoreMetadata? {
    entries["metadata"].flatMap { try? StoreMetadata(encoded: Data($0)) }
  }

  /// The version of its model that the store was of; nil when that cannot be read.
  var versions: StoredVersions? {
    entries["versions"].flatMap { try? BoundedJSON.decode(StoredVersions.self, from: Data($0)) }
  }

  /// The entities that the store holds; none when that is not known, or the store is not of the schema's version.
  func heldEntities(of schema: Schema) -> Set<String> {
    let hashes = versions?.hashes ?? [:]
    let isSame = hashes.allSatisfy { schema.entity(named: $0.key)?.versionHash == $0.value }
    return isSame ? Set(hashes.keys) : []
  }

  /// Which versions of its model the store was of, when it is of that of `schema` now.
  func lineage(before schema: Schema) -> StoreLineage {
    var lineage = entries[StoreLineage.key].flatMap { try? StoreLineage(encoded: Data($0)) } ?? StoreLineage()
    if let versions,
      versions.hashes.contains(where: { schema.entity(named: $0.key)?.versionHash != $0.value })
    {
      lineage.add(versions)
    }
    return lineage
  }

  /// How often the store was committed. Nil for a number that none can have.
  var commitNumber: UInt64? {
    let number = entries["stamp"].flatMap { stamp in stamp.withUnsafeBytes { CommitStamp($0)?.commitNumber } }
    return number.flatMap { $0 < CommitStamp.limit ? $0 : nil }
  }

  /// The smallest key of a hierarchy that was never reserved.
  func counter(_ root: String) -> UInt64? {
    entries["counter/" + root].flatMap { bytes in
      guard bytes.count == 8 else { return nil }
      return bytes.withUnsafeBytes { UInt64(littleEndian: $0.loadUnaligned(as: UInt64.self)) }
    }
  }

  /// The codes that a new store of the schema would have, for one that has lost all of its own; whether they
  /// were needed.
  mutating func guessIfLost(_ schema: Schema) -> Bool {
    guard entityNames.isEmpty else { return false }
    let isWithoutLayouts = layouts.isEmpty
    var signatures = Set<String>()
    for (place, entity) in schema.entities.enumerated() {
      entityNames[UInt16(place + 1)] = entity.name
      let root = schema.hierarchies[entity.hierarchyNumber].rootName
      if hierarchyCodes[root] == nil { hierarchyCodes[root] = UInt16(hierarchyCodes.count + 1) }
      for attribute in entity.attributes where attributeCodes[attribute.name] == nil {
        attributeCodes[attribute.name] = UInt16(attributeCodes.count + 1)
      }
      for relationship in entity.relationships
      where !relationship.isTransient && relationshipCodes[relationship.storedName] == nil {
        relationshipCodes[relationship.storedName] = UInt16(relationshipCodes.count + 1)
      }
      if isWithoutLayouts && signatures.insert(entity.layout.signature).inserted {
        layouts[UInt16(layouts.count + 1)] = entity.layout
      }
    }
    return true
  }

  private static func code(_ bytes: [UInt8]) -> UInt16? {
    bytes.count == 2 ? UInt16(bytes[0]) | UInt16(bytes[1]) << 8 : nil
  }
}

extension String {
  /// The rest after a prefix; nil when the text does not begin with it.
  fileprivate func dropping(_ prefix: String) -> String? {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
  }
}
