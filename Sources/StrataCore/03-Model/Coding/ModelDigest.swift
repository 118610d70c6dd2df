import Foundation

/// A short number for a model as stores keep it, by which it is seen whether two models of one version differ in anything else: rules for deleting, default values,
/// configurations.
///
/// Without what decides nothing there: classes, of which tools have none; the order of entities, properties, rules and members of configurations, which programs may
/// make from sets; the bytes of transformed default values, which a transformer may write in any order. Two NaNs are the same.
enum ModelDigest {
  /// The key in the keyspace "meta".
  static let key = "model-digest"
  /// Raised whenever a model gets another digest: those of other versions say nothing.
  private static let version: UInt8 = 1

  static func of(_ document: ModelDocument) -> UInt64 {
    var sum = Checksum()
    sum.add(document.format)
    sum.add(set: document.versionIdentifiers) { $0.add($1) }
    sum.add(set: document.entities) { $0.add($1) }
    sum.add(set: Array(document.configurations)) { sum, configuration in
      sum.add(configuration.key)
      sum.add(set: Array(Set(configuration.value))) { $0.add($1) }
    }
    return sum.value
  }

  /// What stands beside a model in a store: its digest, and a checksum of just these bytes, since older programs write models and no digests.
  ///
  /// ```
  ///   version u8 ─ digest u64 ─ checksum of the model's bytes u64
  /// ```
  static func note(_ digest: UInt64, beside model: UnsafeRawBufferPointer) -> [UInt8] {
    var bytes = [version]
    for word in [digest, Checksum.of(model)] {
      withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) }
    }
    return bytes
  }

  static func note(_ digest: UInt64, beside model: Data) -> [UInt8] {
    model.withUnsafeBytes { note(digest, beside: $0) }
  }
}

// MARK: Parts of models

extension Checksum {
  fileprivate mutating func add(_ entity: ModelDocument.Entity) {
    add(entity.name)
    add(entity.superentity)
    add(entity.isAbstract)
    add(entity.renamingIdentifier)
    add(entity.versionHashModifier)
    add(entity.userInfo)
    add(set: entity.uniquenessConstraints) { sum, names in
      sum.add(names.count)
      for name in names { sum.add(name) }
    }
    add(set: entity.attributes) { $0.add($1) }
    add(set: entity.relationships) { $0.add($1) }
    add(set: entity.indexes) { $0.add($1) }
    entity.versionHash.withUnsafeBytes { add(bytes: $0) }
  }

  private mutating func add(_ property: ModelDocument.Property) {
    add(property.name)
    add(property.isOptional)
    add(property.isTransient)
    add(property.renamingIdentifier)
    add(property.versionHashModifier)
    add(property.userInfo)
    add(set: property.rules ?? []) { sum, rule in
      sum.add(rule.kind.rawValue)
      sum.add(rule.bound)
      sum.add(rule.length.map { "\($0)" })
      sum.add(rule.pattern)
      sum.add(rule.warning)
    }
  }

  private mutating func add(_ attribute: ModelDocument.Attribute) {
    add(attribute.property)
    add(Int(attribute.type))
    if attribute.type == AttributeType.transformable.rawValue {
      add(attribute.defaultValue != nil)
    } else {
      add(attribute.defaultValue)
    }
    add(attribute.allowsExternalBinaryDataStorage)
    add(attribute.preservesValueInHistoryOnDeletion)
    add(attribute.valueTransformerName)
    add(attribute.attributeValueClassName)
    add(set: attribute.elements ?? []) { $0.add($1) }
    add(attribute.derivation)
  }

  private mutating func add(_ relationship: ModelDocument.Relationship) {
    add(relationship.property)
    add(relationship.destination)
    add(relationship.inverse)
    add(relationship.minCount)
    add(relationship.maxCount)
    add(relationship.isOrdered)
    add(word: UInt64(relationship.deleteRule))
  }

  private mutating func add(_ index: ModelDocument.Index) {
    add(index.name)
    add(index.elements.count)
    for element in index.elements {
      add(element.property)
      add(element.isAscending)
      add(word: UInt64(element.collation))
    }
    add(index.condition?.text)
    for key in index.condition?.keys ?? [] { add(key) }
  }

  private mutating func add(_ value: ValueDocument?) {
    guard let (tag, text) = value?.tagged else { return add(nil as String?) }
    add(tag)
    add(text)
  }

  private mutating func add(_ userInfo: UserInfoDocument?) {
    guard let userInfo else { return add(false) }
    add(true)
    add(UserInfoDocument.Node.dictionary(userInfo.entries))
  }

  private mutating func add(_ node: UserInfoDocument.Node) {
    switch node {
    case .value(let value):
      add(0)
      add(value)
    case .array(let nodes):
      add(1)
      add(nodes.count)
      for node in nodes { add(node) }
    case .dictionary(let entries):
      add(2)
      add(set: Array(entries)) { sum, entry in
        sum.add(entry.key)
        sum.add(entry.value)
      }
    // User info has neither.
    case .set(let nodes):
      add(3)
      add(nodes.count)
      for node in nodes { add(node) }
    case .entries(let entries):
      add(4)
      add(entries.count)
      for entry in entries {
        add(entry.key)
        add(entry.value)
      }
    }
  }
}

// MARK: Bytes

/// A checksum by Fowler, Noll and Vo, eight bytes at a time. Against accidents only.
private struct Checksum {
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var sum = Checksum()
    sum.add(bytes: bytes)
    return sum.value
  }

  mutating func add(word: UInt64) {
    value = (value ^ word) &* 0x100_0000_01B3
    // Upper bits would never come down.
    value ^= value >> 32
  }

  mutating func add(bytes: UnsafeRawBufferPointer) {
    add(word: UInt64(bytes.count))
    var place = 0
    while place + 8 <= bytes.count {
      add(word: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
      place += 8
    }
    while place < bytes.count {
      add(word: UInt64(bytes[place]))
      place += 1
    }
  }

  mutating func add(_ number: Int) { add(word: UInt64(bitPattern: Int64(number))) }
  mutating func add(_ flag: Bool) { add(word: flag ? 1 : 0) }

  mutating func add(_ text: String?) {
    guard var text else { return add(false) }
    add(true)
    text.withUTF8 { add(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Adds items in whatever order they come.
  mutating func add<Item>(set items: [Item], _ body: (inout Checksum, Item) -> Void) {
    let sums = items.map { item in
      var sum = Checksum()
      body(&sum, item)
      return sum.value
    }
    add(items.count)
    for sum in sums.sorted() { add(word: sum) }
  }
}
