import Foundation
import StrataCore

/// The edits of a page: one context of one store, which can be undone, saved, and thrown away. Any number of pages share it.
final class EditSession: Sendable {
  /// How many changed objects are listed.
  private static let most = 500
  /// How many of the members that were added to a relationship, or taken away, are listed.
  private static let mostMembers = 1_000
  /// How many of them with their texts: each is a row to be read.
  private static let mostLabels = 100
  private static let textLength = 2_000
  /// Who is named in the history.
  private static let author = "strata browse"

  private let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator
  private let identifier: UUID
  private let schema: Schema

  init(_ coordinator: PersistentStoreCoordinator, identifier: UUID, schema: Schema) {
    self.coordinator = coordinator
    self.identifier = identifier
    self.schema = schema
    context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    context.name = Self.author
    context.transactionAuthor = Self.author
    // What others save meanwhile is seen; what was edited here stays as it was edited.
    context.automaticallyMergesChangesFromParent = true
    // It groups by event, too: merging what others have saved may register something outside of every step.
    context.undoManager = UndoManager()
  }

  /// Carries out what becomes one step of undo; none when nothing has changed.
  private func step<R>(_ body: () throws -> R) rethrows -> R {
    // What was registered before is a step of its own. An open group keeps the event from ending in the middle, as at a save.
    context.processPendingChanges()
    context.undoManager?.beginUndoGrouping()
    defer {
      context.undoManager?.endUndoGrouping()
      context.processPendingChanges()
    }
    return try body()
  }

  var hasChanges: Bool { context.performAndWait { context.hasChanges } }
  /// What the edits have read so far.
  var statistics: ManagedObjectContext.Statistics { context.performAndWait { context.statistics } }

  // MARK: What the page asks for

  /// What is not saved yet.
  func pending() throws -> JSONValue { try context.performAndWait { try self.report() } }

  /// Carries out one edit, which becomes one step of undo.
  /// - Throws: `Failure` when it is none, or a value is not valid; nothing has changed then.
  func edit(_ edit: BrowseEdit) throws -> JSONValue {
    try context.performAndWait {
      let new = try self.step { try self.carryOut(edit) }
      return try self.report(new)
    }
  }

  func undo() throws -> JSONValue {
    context.performAndWait {
      self.step {}
      context.undo()
    }
    return try pending()
  }

  func redo() throws -> JSONValue {
    context.performAndWait { context.redo() }
    return try pending()
  }

  func discard() throws -> JSONValue {
    context.performAndWait { context.rollback() }
    return try pending()
  }

  /// Saves everything. What is not valid is told by object and property, and nothing is saved then.
  func save() throws -> BrowseAnswer {
    do {
      try context.performAndWait { try self.step { try context.save() } }
    } catch let error as CoreDataError {
      return refusal(error)
    }
    return BrowseAnswer(try pending())
  }

  /// One value as it was edited.
  func value(_ id: String, _ name: String) throws -> AttributeValue {
    try context.performAndWait {
      let object = try self.object(id)
      let entity = try self.entity(of: object)
      guard let attribute = EntityShape(entity, schema).attributes.first(where: { $0.name == name }) else {
        throw Failure(.missing, "\(entity.name) has no stored attribute “\(name.prefix(80))”.")
      }
      guard let any = self.any(attribute, object) else { return .null }
      guard attribute.type != .transformable, let value = AttributeValue(any, type: attribute.type) else {
        return .string("\(any)")
      }
      return value
    }
  }

  // MARK: Edits

  /// The name of an object that is new.
  private func carryOut(_ edit: BrowseEdit) throws -> String? {
    switch edit.kind {
    case "insert":
      let entity = try Names.entity(try edit.text(edit.entity, "entity"), in: schema)
      if entity.isAbstract {
        throw Failure(.usage, "\(entity.name) is abstract: it has no objects of its own.")
      }
      return name(try EntityDescription.insertNewObject(forEntityName: entity.name, into: context))
    case "delete": context.delete(try object(edit.id))
    case "update": try update(try object(edit.id), edit)
    case "link": try link(try object(edit.id), edit)
    case "member": try setMember(try object(edit.id), edit)
    default: throw Failure(.usage, "“\(edit.kind.prefix(40))” is no kind of edit.")
    }
    return nil
  }

  private func update(_ object: ManagedObject, _ edit: BrowseEdit) throws {
    let entity = try entity(of: object)
    let name = try edit.text(edit.name, "name")
    guard let attribute = EntityShape(entity, schema).attributes.first(where: { $0.name == name }) else {
      throw Failure(.usage, "\(entity.name) has no stored attribute “\(name.prefix(80))”.")
    }
    if entity.derivedSlots.contains(attribute.slot) {
      throw Failure(.usage, "\(entity.name).\(name) is derived from others, and cannot be set.")
    }
    if let reason = KeptTransformer.reason(schema.attribute(name, of: entity)) {
      throw Failure(.usage, "\(entity.name).\(name) cannot be set here. \(reason)")
    }
    var value: Any?
    if let bytes = edit.bytes {
      guard attribute.type == .binaryData else {
        throw Failure(
          .usage, "\(entity.name).\(name) is no binaryData: the bytes of a file cannot be its value.")
      }
      value = bytes
    } else if let text = edit.value {
      guard let found = ValueText.value(text, attribute.type) else {
        throw Failure(.input, "“\(text.prefix(60))” is no \(attribute.type)\(Self.form(attribute.type)).")
      }
      value = found.anyValue
    }
    if name.contains(".") {
      object.setValue(value, forKeyPath: name)
    } else {
      var checked = value
      try object.validateValue(&checked, forKey: name)
      object.setValue(value, forKey: name)
    }
  }

  private static func form(_ type: AttributeType) -> String {
    switch type {
    case .date: ": it is written 2024-02-29T12:30:00Z"
    case .boolean: ": it is true or false"
    case .binaryData: ": it is written in Base64"
    case .integer16, .integer32, .integer64: ", or it is too large for one"
    default: ""
    }
  }

  private func link(_ object: ManagedObject, _ edit: BrowseEdit) throws {
    let relationship = try relationship(of: object, edit, isToMany: false)
    let target = try edit.value.map { try self.object($0) }
    if let target { try check(target, relationship) }
    object.setValue(target, forKey: relationship.name)
  }

  /// Adds a member, at the end of an ordered relationship, or takes it away. The other members are not read.
  private func setMember(_ object: ManagedObject, _ edit: BrowseEdit) throws {
    let relationship = try relationship(of: object, edit, isToMany: true)
    let member = try self.object(try edit.text(edit.value, "value"))
    try check(member, relationship)
    if relationship.isOrdered {
      let members = object.orderedRelated(ManagedObject.self, slot: relationship.slot)
      // One that is there already moves to the end.
      members.remove(member)
      if edit.adds { members.append(member) }
    } else {
      let members = object.related(ManagedObject.self, slot: relationship.slot)
      if edit.adds { members.insert(member) } else { members.remove(member) }
    }
  }

  private func relationship(of object: ManagedObject, _ edit: BrowseEdit, isToMany: Bool) throws
    -> RelationshipSchema
  {
    let entity = try entity(of: object)
    let name = try edit.text(edit.name, "name")
    guard
      let found = entity.relationships.first(where: {
        $0.name == name && $0.isToMany == isToMany && !$0.isTransient
      })
    else {
      throw Failure(
        .usage, "\(entity.name) has no to-\(isToMany ? "many" : "one") relationship “\(name.prefix(80))”.")
    }
    return found
  }

  private func check(_ target: ManagedObject, _ relationship: RelationshipSchema) throws {
    let destination = schema.entities[relationship.destination]
    guard destination.subtree.contains(try entity(of: target).number) else {
      throw Failure(.input, "\(relationship.name) leads to \(destination.name), and \(name(target)) is none.")
    }
  }

  // MARK: Objects and their names

  private func entity(of object: ManagedObject) throws -> EntitySchema {
    try Names.entity(object.objectID.entityName, in: schema)
  }

  private func name(_ object: ManagedObject) -> String { name(object.objectID) }

  private func name(_ id: ManagedObjectID) -> String {
    "\(id.entityName)/\(id.uriRepresentation().lastPathComponent)"
  }

  /// By entity and key: no name is made to compare two of a million.
  private static func isBefore(_ first: ManagedObject, _ second: ManagedObject) -> Bool {
    let (a, b) = (first.objectID, second.objectID)
    if a.entityName != b.entityName { return a.entityName < b.entityName }
    if a.isTemporaryID != b.isTemporaryID { return b.isTemporaryID }
    return a.recordKey < b.recordKey
  }

  private func object(_ text: String?) throws -> ManagedObject {
    guard let text else { throw Failure(.usage, "The edit says no “id”.") }
    let address = try Names.object(text, in: schema, identifier: identifier)
    let entity = schema.entities[address.entity]
    let missing = Failure(.missing, "There is no object \(Names.text(address, in: schema)).")
    guard
      let id = coordinator.managedObjectID(
        storeIdentifier: identifier, entityName: entity.name, key: address.key)
    else { throw missing }
    do {
      let object = try context.existingObject(with: id)
      guard !object.isDeleted, entity.subtree.contains(try self.entity(of: object).number) else {
        throw missing
      }
      return object
    } catch let error as CoreDataError where error.code == .managedObjectReferentialIntegrity {
      throw missing
    }
  }

  // MARK: Telling

  private func report(_ new: String? = nil) throws -> JSONValue {
    let inserted = context.insertedObjects.map { ($0, "inserted") }
    let updated = context.updatedObjects.filter {
      $0.hasPersistentChangedValues && !$0.isInserted && !$0.isDeleted
    }.map {
      ($0, "updated")
    }
    let deleted = context.deletedObjects.map { ($0, "deleted") }
    let all = (inserted + updated + deleted).sorted { Self.isBefore($0.0, $1.0) }
    var members: [(String, JSONValue)] = [
      ("total", .number(all.count)),
      ("changes", .array(try all.prefix(Self.most).map { try change(name($0.0), $0.0, $0.1) })),
      ("canUndo", .boolean(context.undoManager?.canUndo == true)),
      ("canRedo", .boolean(context.undoManager?.canRedo == true)),
    ]
    if let new { members.append(("id", .string(new))) }
    return .object(members)
  }

  private func change(_ name: String, _ object: ManagedObject, _ kind: String) throws -> JSONValue {
    var members: [(String, JSONValue)] = [("id", .string(name)), ("kind", .string(kind))]
    if kind == "deleted" { return .object(members) }
    let shape = EntityShape(try entity(of: object), schema)
    if kind == "inserted" {
      members.append(("object", try whole(name, object, shape)))
    }
    // Of a new object only the members: everything else of it is there.
    let changed = kind == "inserted" ? [] : object.changedNames
    members.append(
      (
        "values",
        .object(
          shape.attributes.filter {
            changed.contains($0.name) || changed.contains(String($0.name.prefix { $0 != "." }))
          }.map {
            ($0.name, .object(value($0, object)))
          })
      ))
    members.append(
      (
        "links",
        .object(
          shape.toOne.filter { changed.contains($0.relationship.name) }.map {
            ($0.relationship.name, target(object.value(forKey: $0.relationship.name)))
          })
      ))
    members.append(
      (
        "members",
        .object(
          try shape.toMany.filter { changed.contains($0.name) || kind == "inserted" }.map {
            ($0.name, try many($0, object))
          })
      ))
    return .object(members)
  }

  /// A new object in the form in which saved ones are told.
  private func whole(_ name: String, _ object: ManagedObject, _ shape: EntityShape) throws -> JSONValue {
    let attributes = shape.attributes.map { attribute -> JSONValue in
      let start: [(String, JSONValue)] = [
        ("name", .string(attribute.name)), ("type", .string("\(attribute.type)")),
        ("isOptional", .boolean(attribute.isOptional)),
        ("isDerived", .boolean(shape.entity.derivedSlots.contains(attribute.slot))),
        ("why", .optional(KeptTransformer.reason(schema.attribute(attribute.name, of: shape.entity)))),
      ]
      return .object(start + value(attribute, object))
    }
    let toOne = shape.toOne.map { link -> JSONValue in
      [
        "name": .string(link.relationship.name), "isOptional": .boolean(link.relationship.isOptional),
        "destination": .string(schema.entities[link.relationship.destination].name),
        "target": target(object.value(forKey: link.relationship.name)),
      ]
    }
    return [
      "id": .string(name), "entity": .string(shape.entity.name), "saved": 0,
      "uri": .string("x-coredata://\(identifier.uuidString)/\(name)"), "attributes": .array(attributes),
      "toOne": .array(toOne),
      "toMany": .array(
        shape.toMany.map {
          [
            "name": .string($0.name), "destination": .string(schema.entities[$0.destination].name),
            "isOrdered": .boolean($0.isOrdered), "count": 0, "members": [],
          ]
        }), "incoming": [],
    ]
  }

  /// The value of an attribute, also of one in a composite; nil for none.
  private func any(_ attribute: EntityShape.Attribute, _ object: ManagedObject) -> Any? {
    let any =
      attribute.name.contains(".")
      ? object.value(forKeyPath: attribute.name) : object.value(forKey: attribute.name)
    return any is NSNull ? nil : any
  }

  private func value(_ attribute: EntityShape.Attribute, _ object: ManagedObject) -> [(String, JSONValue)] {
    guard let any = any(attribute, object) else { return [("kind", "nil")] }
    guard attribute.type != .transformable, let value = AttributeValue(any, type: attribute.type) else {
      return [
        ("kind", "value"), ("text", .string(String("\(any)".prefix(Self.textLength)))), ("isWhole", true),
      ]
    }
    if case .data(let data) = value { return DataContent.members(data, texts: Self.textLength) }
    let text = ValueText.cell(value)
    return [
      ("kind", "value"), ("text", .string(String(text.prefix(Self.textLength)))),
      ("isWhole", .boolean(text.count <= Self.textLength)),
    ]
  }

  private func target(_ value: Any?) -> JSONValue {
    guard let object = value as? ManagedObject else { return .null }
    let label = (try? entity(of: object))?.attributes.lazy.filter {
      $0.type == .string && $0.relationship == nil && !$0.isTransient && $0.composite == nil
    }.compactMap { object.value(forKey: $0.name) as? String }.first { !$0.isEmpty }
    return ["id": .string(name(object)), "label": .optional(label.map { String($0.prefix(60)) })]
  }

  /// What was done to the members: the others are as they are saved.
  private func many(_ relationship: RelationshipSchema, _ object: ManagedObject) throws -> JSONValue {
    let edits = try object.memberEdits(relationship.name)
    return [
      "count": .number(object.related(ManagedObject.self, slot: relationship.slot).count),
      "added": .array(
        edits.added.prefix(Self.mostMembers).enumerated().map { place, id in
          place < Self.mostLabels
            ? target(context.object(with: id)) : ["id": .string(name(id)), "label": .null]
        }),
      "addedCount": .number(edits.added.count),
      "removed": .strings(edits.removed.prefix(Self.mostMembers).map { name($0) }),
      "removedCount": .number(edits.removed.count),
    ]
  }

  // MARK: Refusals

  /// Why nothing was saved: a sentence, and a line for each property that is not valid.
  private func refusal(_ error: CoreDataError) -> BrowseAnswer {
    let all = (error.userInfo[CoreDataError.Key.detailedErrors] as? [any Error] ?? [error]).compactMap {
      $0 as? CoreDataError
    }
    let fields = context.performAndWait {
      all.compactMap { error -> JSONValue? in
        guard let object = error.userInfo[CoreDataError.Key.validationObject] as? ManagedObject else {
          return nil
        }
        return [
          "id": .string(name(object)),
          "name": .optional(error.userInfo[CoreDataError.Key.validationKey] as? String),
          "error": .string(error.localizedDescription),
        ]
      }
    }
    var answer = BrowseAnswer([
      "error": .string(
        fields.isEmpty
          ? "Nothing was saved: \(error.localizedDescription)"
          : "Nothing was saved: \(Words.counted(fields.count, "value")) \(fields.count == 1 ? "is" : "are") not valid."
      ),
      "advice": .null, "fields": .array(fields),
    ])
    answer.status = 422
    return answer
  }
}

/// An edit as the page sends it.
struct BrowseEdit {
  var kind = ""
  var entity: String?
  var id: String?
  var name: String?
  /// A value as text, or the name of an object; nil for nil.
  var value: String?
  /// Whether a member is added, not taken away.
  var adds = true
  /// A value that was sent as it is.
  var bytes: Data?

  init(_ id: String, attribute name: String, bytes: Data) {
    kind = "update"
    (self.id, self.name, self.bytes) = (id, name, bytes)
  }

  init(_ body: [UInt8]) throws {
    do {
      try body.withUnsafeBytes { bytes in
        var reader = JSONReader(bytes)
        try reader.forEachMember { key, reader in
          let key = String(decoding: key, as: UTF8.self)
          if reader.takesNull() { return }
          switch key {
          case "kind": kind = try reader.string()
          case "entity": entity = try reader.string()
          case "id": id = try reader.string()
          case "name": name = try reader.string()
          case "value": value = try reader.string()
          case "adds": adds = try reader.boolean()
          default: throw reader.fault("“\(key.prefix(40))” is not known")
          }
        }
        try reader.expectEnd()
      }
    } catch let fault as JSONReader.Fault {
      throw Failure(.input, "The edit cannot be read: \(fault.description).")
    }
  }

  func text(_ value: String?, _ name: String) throws -> String {
    guard let value else { throw Failure(.usage, "The edit says no “\(name)”.") }
    return value
  }
}
