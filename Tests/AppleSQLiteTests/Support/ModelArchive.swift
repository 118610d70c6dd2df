import Foundation
import StrataCore

@testable import StrataAppleSQLite

/// Writes models as the cache of a store has them: a keyed archive, packed by DEFLATE.
struct ModelArchive {
  private var objects: [PropertyListValue] = [.string("$null")]
  private var classes: [String: Int] = [:]
  private var entities: [ObjectIdentifier: Int] = [:]
  private var properties: [ObjectIdentifier: Int] = [:]
  private var texts: [String: Int] = [:]
  /// Whether attributes say whether large values lie in files.
  private var saysExternal = true

  /// The bytes of the archive, not yet packed.
  static func bytes(_ model: ManagedObjectModel, saysExternal: Bool = true) -> [UInt8] {
    var archive = ModelArchive()
    archive.saysExternal = saysExternal
    let root = archive.add(model)
    return PropertyListWriter.bytes(
      .dictionary([
        "$archiver": .string("NSKeyedArchiver"), "$version": .integer(100_000),
        "$top": .dictionary(["root": .reference(root)]), "$objects": .array(archive.objects),
      ]))
  }

  /// Blocks that are stored as they are.
  static func packed(_ bytes: [UInt8]) -> Data {
    var result: [UInt8] = []
    var rest = bytes[...]
    repeat {
      let block = rest.prefix(65_535)
      rest = rest.dropFirst(block.count)
      let count = UInt16(block.count)
      result.append(rest.isEmpty ? 1 : 0)
      for number in [count, ~count] {
        result.append(UInt8(number & 0xFF))
        result.append(UInt8(number >> 8))
      }
      result += block
    } while !rest.isEmpty
    return Data(result)
  }

  private mutating func append(_ value: PropertyListValue) -> Int {
    objects.append(value)
    return objects.count - 1
  }

  private mutating func text(_ text: String) -> PropertyListValue {
    if let known = texts[text] { return .reference(known) }
    let place = append(.string(text))
    texts[text] = place
    return .reference(place)
  }

  private mutating func type(_ name: String) -> PropertyListValue {
    if let known = classes[name] { return .reference(known) }
    let place = append(
      .dictionary(["$classname": .string(name), "$classes": .array([.string(name), .string("NSObject")])]))
    classes[name] = place
    return .reference(place)
  }

  private mutating func array(_ items: [PropertyListValue], _ name: String = "NSArray") -> PropertyListValue {
    let own = type(name)
    return .reference(append(.dictionary(["$class": own, "NS.objects": .array(items)])))
  }

  /// A dictionary with known keys, as entities have for their properties, with a place that is empty.
  private mutating func known(_ items: [(String, PropertyListValue)]) -> PropertyListValue {
    let empty = text("__empty_slot_token_0__")
    let keys = array(items.map { text($0.0) } + [empty])
    let mappingType = type("NSKnownKeysMappingStrategy1")
    let mapping = append(
      .dictionary(["$class": mappingType, "keys": keys, "length": .integer(Int64(items.count))]))
    let values = array(items.map(\.1) + [empty])
    let own = type("NSKnownKeysDictionary1")
    return .reference(
      append(
        .dictionary(["$class": own, "NSKnownKeysMappingStrategy1": .reference(mapping), "values": values])))
  }

  private mutating func dictionary(_ items: [(String, PropertyListValue)]) -> PropertyListValue {
    let keys = items.map { text($0.0) }
    let own = type("NSMutableDictionary")
    return .reference(
      append(.dictionary(["$class": own, "NS.keys": .array(keys), "NS.objects": .array(items.map(\.1))])))
  }

  private mutating func add(_ model: ManagedObjectModel) -> Int {
    let sorted = model.entities.sorted { ($0.name ?? "") < ($1.name ?? "") }
    // Everything refers to everything: places first.
    for entity in sorted {
      entities[ObjectIdentifier(entity)] = append(.null)
      for property in entity.properties where properties[ObjectIdentifier(property)] == nil {
        properties[ObjectIdentifier(property)] = append(.null)
      }
    }
    var seen: Set<ObjectIdentifier> = []
    for entity in sorted {
      objects[entities[ObjectIdentifier(entity)]!] = add(entity)
      for property in entity.properties where seen.insert(ObjectIdentifier(property)).inserted {
        objects[properties[ObjectIdentifier(property)]!] = add(property)
      }
    }
    let list = dictionary(sorted.map { ($0.name ?? "", reference($0)) })
    let identifiers = array(model.versionIdentifiers.sorted().map { text($0) }, "NSSet")
    let own = type("NSManagedObjectModel")
    return append(.dictionary(["$class": own, "NSEntities": list, "NSVersionIdentifiers": identifiers]))
  }

  // Every entity and property of the model has a place.
  private func reference(_ entity: EntityDescription) -> PropertyListValue {
    .reference(entities[ObjectIdentifier(entity)]!)
  }
  private func reference(_ property: PropertyDescription) -> PropertyListValue {
    .reference(properties[ObjectIdentifier(property)]!)
  }

  private mutating func add(_ entity: EntityDescription) -> PropertyListValue {
    var fields: [String: PropertyListValue] = [
      "$class": type("NSEntityDescription"), "NSEntityName": text(entity.name ?? ""),
      "NSClassNameForEntity": text("NSManagedObject"), "NSIsAbstract": .boolean(entity.isAbstract),
      "NSProperties": known(entity.properties.map { ($0.name, reference($0)) }),
      "NSSubentities": dictionary(entity.subentities.map { ($0.name ?? "", reference($0)) }),
      "NSUniquenessConstraints": array(
        entity.uniquenessConstraints.map { names in array(names.map { text($0) }) }),
      "NSFetchIndexDescriptions": array([]),
    ]
    if let parent = entity.superentity { fields["NSSuperentity"] = reference(parent) }
    if let modifier = entity.versionHashModifier { fields["NSVersionHashModifier"] = text(modifier) }
    return .dictionary(fields)
  }

  private mutating func add(_ property: PropertyDescription) -> PropertyListValue {
    var fields: [String: PropertyListValue] = [
      "NSPropertyName": text(property.name), "NSIsOptional": .boolean(property.isOptional),
      "NSIsTransient": .boolean(property.isTransient),
    ]
    if let modifier = property.versionHashModifier { fields["NSVersionHashModifier"] = text(modifier) }
    if let relationship = property as? RelationshipDescription {
      fields["$class"] = type("NSRelationshipDescription")
      fields["NSMinCount"] = .integer(Int64(relationship.minCount))
      fields["NSMaxCount"] = .integer(Int64(relationship.maxCount))
      fields["NSDeleteRule"] = .integer(Int64(relationship.deleteRule.rawValue))
      fields["NSIsOrdered"] = .boolean(relationship.isOrdered)
      if let destination = relationship.destinationEntity {
        fields["NSDestinationEntity"] = reference(destination)
      }
      if let inverse = relationship.inverseRelationship {
        fields["NSInverseRelationship"] = reference(inverse)
      }
    } else if let composite = property as? CompositeAttributeDescription {
      fields["$class"] = type("NSCompositeAttributeDescription")
      fields["NSAttributeType"] = .integer(Int64(composite.attributeType.rawValue))
      fields["NSTheElements"] = array(
        composite.elements.map { .reference(append(add($0 as PropertyDescription))) })
    } else if let attribute = property as? AttributeDescription {
      fields["$class"] = type("NSAttributeDescription")
      fields["NSAttributeType"] = .integer(Int64(attribute.attributeType.rawValue))
      if saysExternal {
        fields["NSExternalBinaryDataStorage"] = .boolean(attribute.allowsExternalBinaryDataStorage)
      }
      if let name = attribute.valueTransformerName { fields["NSValueTransformerName"] = text(name) }
      if let value = attribute.defaultValue as? String { fields["NSDefaultValue"] = text(value) }
      if let value = attribute.defaultValue as? Int {
        fields["NSDefaultValue"] = .reference(append(.integer(Int64(value))))
      }
    }
    return .dictionary(fields)
  }
}

/// Writes binary property lists, references of archives included.
struct PropertyListWriter {
  private var values: [[UInt8]] = []

  static func bytes(_ value: PropertyListValue) -> [UInt8] {
    var writer = PropertyListWriter()
    let top = writer.add(value)
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for value in writer.values {
      offsets.append(bytes.count)
      bytes += value
    }
    let table = bytes.count
    for offset in offsets { bytes += number(offset, 8) }
    bytes += [0, 0, 0, 0, 0, 0, 8, 4] as [UInt8]
    for value in [offsets.count, top, table] { bytes += number(value, 8) }
    return bytes
  }

  private static func number(_ value: Int, _ length: Int) -> [UInt8] {
    (0..<length).map {
      UInt8(truncatingIfNeeded: UInt64(bitPattern: Int64(value)) >> (8 * UInt64(length - 1 - $0)))
    }
  }

  private static func head(_ kind: UInt8, _ count: Int) -> [UInt8] {
    count < 15 ? [kind << 4 | UInt8(count)] : [kind << 4 | 0xF, 0x13] + number(count, 8)
  }

  private mutating func add(_ value: PropertyListValue) -> Int {
    var bytes: [UInt8]
    switch value {
    case .null: bytes = [0]
    case .boolean(let value): bytes = [value ? 9 : 8]
    case .integer(let value): bytes = [0x13] + Self.number(Int(value), 8)
    case .real(let value): bytes = [0x23] + Self.number(Int(bitPattern: UInt(value.bitPattern)), 8)
    case .date(let value): bytes = [0x33] + Self.number(Int(bitPattern: UInt(value.bitPattern)), 8)
    case .data(let value): bytes = Self.head(4, value.count) + value
    case .string(let value):
      let units = Array(value.utf16)
      bytes =
        value.utf8.allSatisfy { $0 < 128 }
        ? Self.head(5, value.utf8.count) + Array(value.utf8)
        : Self.head(6, units.count) + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    case .reference(let place): bytes = [0x83] + Self.number(place, 4)
    case .array(let items):
      bytes = Self.head(0xA, items.count) + items.map { add($0) }.flatMap { Self.number($0, 4) }
    case .dictionary(let items):
      let sorted = items.sorted { $0.key < $1.key }
      let keys = sorted.map { add(.string($0.key)) }
      let contents = sorted.map { add($0.value) }
      bytes = Self.head(0xD, items.count) + (keys + contents).flatMap { Self.number($0, 4) }
    }
    values.append(bytes)
    return values.count - 1
  }
}
