import Foundation

extension ManagedObjectContext {
  /// The names, joined by dots, of the stored properties that a Swift key path reads from objects of an entity: `\Flight.plane?.code` is
  /// `plane.code`. It is followed on an object that belongs to no context; see `ProbeRecording`.
  ///
  /// - Throws: ``PredicateTranslationError`` for a key path that reads no stored property, several that do not lead to each other, or
  ///   computes something of what it reads.
  package func name(of keyPath: AnyKeyPath, fromEntity name: String) throws -> String {
    guard let entity = schema.entity(named: name) else {
      throw FetchError(reason: .unknownEntity, entityName: name, key: nil)
    }
    return try KeyPathNames.name(of: keyPath, from: entity, schema)
  }

  /// The name of the one entity of the model that has a class.
  ///
  /// - Throws: `CoreDataError` 134060 when it is the class of none or of several.
  package func nameOfEntity(ofClass type: ManagedObject.Type) throws -> String { try entityName(of: type) }
}

/// Finds the properties that Swift key paths read. What was found is kept with the schema: a key path is followed once.
enum KeyPathNames {
  /// The names that a key path reads, one behind the other, joined by dots; `objectID` for the object itself, and for its identifier.
  static func name(of keyPath: AnyKeyPath, from entity: EntitySchema, _ schema: Schema) throws -> String {
    let reads = try reads(of: keyPath, from: entity, schema)
    if reads.isEmpty { return "objectID" }
    return reads.map { schema.entities[$0.entity].attributes[$0.slot].name }.joined(separator: ".")
  }

  /// The properties that a key path reads, each of the object that the one before leads to. None of a key path to the object
  /// itself, or to its own `objectID`.
  ///
  /// - Parameter asValue: Whether the property's value is asked for, which of a transformable attribute can be had and not compared.
  /// - Throws: ``PredicateTranslationError`` when it reads none, computes something of one, or reads several side by side.
  static func reads(
    of keyPath: AnyKeyPath, from entity: EntitySchema, _ schema: Schema, asValue: Bool = false
  ) throws -> [ProbeRecording.Read] {
    if let standIn = entity.managedObjectClass as? any KeyPathStandIn.Type,
      let name = standIn.propertyName(of: keyPath), let slot = entity.slot(named: name)
    {
      return [ProbeRecording.Read(entity: entity.number, slot: slot)]
    }
    let question = Question(entity: entity.number, keyPath: keyPath, asValue: asValue)
    return try schema.memo.answer(to: question) {
      try follow(keyPath, from: entity, schema, asValue: asValue)
    }
  }

  private struct Question: Hashable {
    let entity: Int
    let keyPath: AnyKeyPath
    let asValue: Bool
  }

  private static func fault(_ keyPath: AnyKeyPath, _ reason: String) -> PredicateTranslationError {
    PredicateTranslationError(
      expression: "key path from \(type(of: keyPath).rootType) to \(type(of: keyPath).valueType)",
      reason: reason)
  }

  private static func follow(
    _ keyPath: AnyKeyPath, from entity: EntitySchema, _ schema: Schema, asValue: Bool
  ) throws -> [ProbeRecording.Read] {
    let enumeration = enumeration(type(of: keyPath).valueType)
    let answers = answers(of: enumeration)
    let recording = ProbeRecording(schema, answers.first ?? .first)
    let (reads, result, probe) = try read(keyPath, of: entity, recording)
    if reads.isEmpty, let identifier = result as? ManagedObjectID, identifier == probe.objectID { return [] }
    let standIn = probe as? any KeyPathStandIn
    if reads.isEmpty, standIn?.isOwnIdentifier(result) == true { return [] }
    if reads.isEmpty, let object = result as? ManagedObject, object === probe { return [] }
    guard let last = reads.last else { throw fault(keyPath, "it reads no stored property") }
    try checkChain(reads, from: entity, schema, keyPath)
    let attribute = schema.entities[last.entity].attributes[last.slot]
    if let relationship = schema.entities[last.entity].relationship(slot: last.slot) {
      let isWhole =
        relationship.isToMany
        ? result is any RelatedMembers || result is any Collection
        : result is ManagedObject || result is ManagedObjectID || standIn?.isSubject(result) == true
      guard isWhole else { throw fault(keyPath, "it computes something of \(attribute.name)") }
      return reads
    }
    let owner = schema.entities[last.entity]
    let ownerType = owner.managedObjectClass as? any KeyPathStandIn.Type
    if attribute.type != .composite, ownerType?.mayLead(keyPath, to: attribute.name) == false {
      throw fault(keyPath, "it computes something of \(attribute.name), which may be nil")
    }
    if recording.opaque.contains(last), attribute.type != .transformable, attribute.type != .composite {
      // Of a value that no probe could be given nothing was computed that could be seen.
      return reads
    }
    if attribute.type == .composite, let ownerType {
      let element = ownerType.element(ofComposite: attribute.name, at: keyPath, steps: reads.count) {
        guard let found = try? read(keyPath, of: entity, ProbeRecording(schema, .first)), found.0 == reads
        else { return nil }
        return found.1
      }
      if element?.isEmpty == true { return reads }
      if let element, let slot = owner.slot(named: "\(attribute.name).\(element)") {
        return reads.dropLast() + [ProbeRecording.Read(entity: last.entity, slot: slot)]
      }
    }
    if attribute.type == .composite, ownerType == nil {
      let slot = try handedOut(of: attribute, in: owner, by: keyPath, reads, from: entity, schema)
      return reads.dropLast() + [ProbeRecording.Read(entity: last.entity, slot: slot)]
    }
    if asValue, attribute.type == .transformable, ownerType == nil {
      guard let whole = recording.wholeType,
        unwrappedType(type(of: keyPath).valueType) == unwrappedType(whole)
      else {
        throw fault(keyPath, "it computes something of \(attribute.name): only the whole value is fetched")
      }
      return reads
    }
    if ProbeRecording.value(attribute.type, .first).isNull {
      throw fault(keyPath, "\(attribute.name) is of type \(attribute.type), whose values are not compared")
    }
    if answers.isEmpty, let enumeration {
      throw fault(
        keyPath,
        "the cases of \(enumeration) are not known: let it conform to CaseIterable, or compare the stored property"
      )
    }
    // The same again with other values: what is computed does not follow them.
    for answer in answers {
      let (again, result, _) = try read(keyPath, of: entity, ProbeRecording(schema, answer))
      guard again == reads, isStored(result, attribute, answer) else {
        throw fault(
          keyPath, "it computes something of \(attribute.name): only the stored value can be looked up")
      }
    }
    return reads
  }

  /// The slot of the element that a key path hands out of a composite attribute, whatever its value; of the attribute itself for the whole.
  private static func handedOut(
    of attribute: AttributeSchema, in owner: EntitySchema, by keyPath: AnyKeyPath,
    _ reads: [ProbeRecording.Read], from entity: EntitySchema, _ schema: Schema
  ) throws -> Int {
    var candidates: [Int: Set<AttributeValue>]?
    for round in 0..<CompositeSamples.rounds {
      let recording = ProbeRecording(schema, .sample(round))
      let (again, result, _) = try read(keyPath, of: entity, recording)
      guard again == reads else {
        throw fault(keyPath, "it computes something of \(attribute.name)")
      }
      guard let given = recording.composite else {
        // A value that cannot be given cannot be seen again. What has its type is taken for it.
        if let whole = recording.wholeType, unwrappedType(type(of: keyPath).valueType) == whole {
          return attribute.slot
        }
        throw fault(
          keyPath,
          "no values of \(attribute.name) can be made to follow it on: name the element, as in Attribute(\"\(attribute.name).…\")"
        )
      }
      var values: [Int: Any] = [attribute.slot: given]
      collect(given, attribute, owner, &values)
      let slots = candidates.map { Array($0.keys) } ?? [attribute.slot] + elements(of: attribute, owner)
      var left: [Int: Set<AttributeValue>] = [:]
      for slot in slots where isSame(result, values[slot], owner.attributes[slot]) {
        let value = values[slot].flatMap { AttributeValue($0, type: owner.attributes[slot].type) } ?? .null
        left[slot] = (candidates?[slot] ?? []).union([value])
      }
      candidates = left
    }
    // Of an element that has one value in all of them nothing can be seen.
    let found = (candidates ?? [:]).filter { slot, values in
      owner.attributes[slot].type == .composite || values.count > 1
    }
    guard found.count == 1, let slot = found.keys.first else {
      throw fault(
        keyPath,
        "it computes something of \(attribute.name), or its element cannot be told from others: name it, as in Attribute(\"\(attribute.name).…\")"
      )
    }
    return slot
  }

  /// The slots of everything in a composite attribute.
  static func elements(of attribute: AttributeSchema, _ owner: EntitySchema) -> [Int] {
    attribute.elements.flatMap { [$0] + elements(of: owner.attributes[$0], owner) }
  }

  private static func collect(
    _ given: [String: Any], _ attribute: AttributeSchema, _ owner: EntitySchema, _ values: inout [Int: Any]
  ) {
    for slot in attribute.elements {
      let element = owner.attributes[slot]
      values[slot] = given[element.elementName]
      if let inner = given[element.elementName] as? [String: Any] { collect(inner, element, owner, &values) }
    }
  }

  /// Whether what a key path has led to is the value that an element was given.
  private static func isSame(_ result: Any, _ given: Any?, _ attribute: AttributeSchema) -> Bool {
    guard let given else { return isNilValue(result) }
    if isNilValue(result) { return false }
    if attribute.type == .composite {
      guard let whole = result as? any CompositeValue, let given = given as? [String: Any] else {
        return false
      }
      return isSame(whole.elementValues, given)
    }
    let stored = (result as? any RawRepresentable)?.rawValue ?? result
    guard let found = AttributeValue(stored, type: attribute.type) else { return false }
    return found == AttributeValue(given, type: attribute.type)
  }

  private static func isSame(_ one: [String: Any], _ other: [String: Any]) -> Bool {
    one.count == other.count
      && one.allSatisfy { name, value in
        guard let given = other[name] else { return false }
        if let value = value as? [String: Any], let given = given as? [String: Any] {
          return isSame(value, given)
        }
        return AttributeValue(value, type: .undefined) == AttributeValue(given, type: .undefined)
      }
  }

  private static func read(
    _ keyPath: AnyKeyPath, of entity: EntitySchema, _ recording: ProbeRecording
  ) throws -> ([ProbeRecording.Read], Any, ManagedObject) {
    let probe = ManagedObject.probe(entity)
    let any: Any = (probe as? any KeyPathStandIn)?.keyPathSubject ?? probe
    let found = ProbeRecording.$current.withValue(recording) { any[keyPath: keyPath] }
    guard let found else {
      throw fault(keyPath, "the entity \(entity.name) has objects of another class")
    }
    let result = unwrapped(found)
    if let members = result as? any RelatedMembers, recording.reads.isEmpty, members.owner === probe {
      recording.note(members.relationship.slot, of: probe)
    }
    return (recording.reads, result, probe)
  }

  private static func checkChain(
    _ reads: [ProbeRecording.Read], from entity: EntitySchema, _ schema: Schema, _ keyPath: AnyKeyPath
  ) throws {
    var current = entity
    for (place, read) in reads.enumerated() {
      let relationship =
        read.entity == current.number ? current.relationship(slot: read.slot) : nil
      if place == reads.count - 1, read.entity == current.number { return }
      guard let relationship, !relationship.isToMany else {
        let names = reads.map { schema.entities[$0.entity].attributes[$0.slot].name }
        throw fault(
          keyPath,
          "it reads \(names.joined(separator: ", ")): only a single stored property can be looked up; name them one by one"
        )
      }
      current = schema.entities[relationship.destination]
    }
  }

  // MARK: Values

  /// What the attribute answers in turn. For an enumeration these are its cases, since no accessor makes one of anything else; none when they are not known.
  private static func answers(of enumeration: (any RawRepresentable.Type)?) -> [ProbeRecording.Answer] {
    guard let enumeration else { return [.first, .second] }
    return enumeration.everyRawValue?.map { .raw($0) } ?? []
  }

  /// The type, or what it is an optional of, when it is an enumeration whose cases have raw values.
  private static func enumeration(_ type: Any.Type) -> (any RawRepresentable.Type)? {
    guard let raw = unwrappedType(type) as? any RawRepresentable.Type, raw.takesSomeValuesOnly else {
      return nil
    }
    return raw
  }

  /// Whether a key path is `\.rawValue`, or says the same of every case.
  static func isRawValue(_ keyPath: AnyKeyPath, of type: any RawRepresentable.Type) -> Bool {
    func isRaw<T: RawRepresentable>(_ type: T.Type) -> Bool {
      let raw = T.everyRawValue ?? T.unlikelyRawValues
      let cases = raw.compactMap { ($0 as? T.RawValue).flatMap { T(rawValue: $0) } }
      return !cases.isEmpty
        && cases.allSatisfy { one in
          guard let said = one[keyPath: keyPath as AnyKeyPath] as? T.RawValue else { return false }
          return AttributeValue(said, type: .undefined) == AttributeValue(one.rawValue, type: .undefined)
        }
    }
    return isRaw(type)
  }

  /// Whether a key path has handed out what the attribute has answered.
  private static func isStored(_ result: Any, _ attribute: AttributeSchema, _ answer: ProbeRecording.Answer)
    -> Bool
  {
    let given = ProbeRecording.value(attribute.type, answer)
    if isNilValue(result) { return false }
    if AttributeValue(result, type: attribute.type) == given { return true }
    guard let raw = result as? any RawRepresentable else { return false }
    return AttributeValue(raw.rawValue, type: attribute.type) == given
  }

  private static func unwrapped(_ any: Any) -> Any {
    if let collated = any as? any CollatedText { return unwrapped(collated.text as Any) }
    guard let optional = any as? any OptionalValue, let value = optional.anyValue else { return any }
    return unwrapped(value)
  }
}

extension RawRepresentable {
  /// The raw values of all cases; nil when nothing tells them.
  static var everyRawValue: [Any]? {
    guard let type = self as? any CaseIterable.Type else { return nil }
    return type.everyCase.compactMap { ($0 as? any RawRepresentable)?.rawValue }
  }

  /// Whether there are raw values of which it makes nothing: so it is with enumerations, not with a structure around a value.
  static var takesSomeValuesOnly: Bool {
    let unlikely = unlikelyRawValues
    return !unlikely.isEmpty
      && !unlikely.allSatisfy { raw in (raw as? RawValue).flatMap { Self(rawValue: $0) } != nil }
  }

  /// Raw values that no enumeration has; none for types that raw values of attributes do not have.
  static var unlikelyRawValues: [Any] {
    switch RawValue.self {
    case is String.Type: ["a probe of Strata", "a second probe of Strata"]
    case is Double.Type: [12_345.5, -9_876.25]
    case is Float.Type: [12_345.5 as Float, -9_876.25 as Float]
    case let type as any FixedWidthInteger.Type: type.unlikely
    default: []
    }
  }
}

extension FixedWidthInteger {
  fileprivate static var unlikely: [Any] { [max, max - 1, max / 2 + 3] }
}

extension CaseIterable {
  fileprivate static var everyCase: [Any] { Array(allCases) }
}
