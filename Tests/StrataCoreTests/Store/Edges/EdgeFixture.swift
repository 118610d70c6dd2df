import Foundation

@testable import StrataCore

/// A store of a model with every kind of relationship, and short names for what its tests change and read.
///
/// ```
///   Person ── Student                   Company          Address       Tag
///   employer  ⇄ Company.employees       to-one, to-many
///   visited   ⇄ Company.visitors        to-one, to-many ordered
///   watched   ⇄ Company.watchers        to-one, to-many with noAction
///   parent    ⇄ Person.children         to-one, to-many on one entity
///   favourite → Company                 to-one without inverse
///   seat      ⇄ Address.sitter          one-to-one
///   den       ⇄ Address.owner           one-to-one, noAction on den
///   friends   ⇄ itself                  to-many, its own inverse
///   tags      ⇄ Tag.people              to-many, ordered on both sides
///   likes     ⇄ Company.fans            to-many both
///   route     → Tag                     to-many ordered without inverse
///   links     → Person                  to-many without inverse
///   tutor     → Person                  Student only: to-one without inverse
///   ghost     → Company                 transient
/// ```
final class EdgeFixture {
  let base: StoreFixture
  /// Edges that the next commit is given.
  private var edges: [EdgeChange] = []

  init() throws { base = try StoreFixture(model: Self.model()) }

  var store: LMDBStore { base.store }
  var schema: Schema { base.schema }

  static func model(withRelationships: Bool = true) -> ManagedObjectModel {
    let student = EntityDescription("Student", properties: [])
    let person = EntityDescription(
      "Person", properties: [AttributeDescription("name", .string, isOptional: true)], subentities: [student])
    let company = EntityDescription(
      "Company", properties: [AttributeDescription("name", .string, isOptional: true)])
    let address = EntityDescription("Address", properties: [])
    let tag = EntityDescription("Tag", properties: [])
    let model = ManagedObjectModel(entities: [person, student, company, address, tag])
    if !withRelationships { return model }
    func add(_ entity: EntityDescription, _ relationships: RelationshipDescription...) {
      entity.properties += relationships
    }
    func toOne(_ name: String, _ entity: EntityDescription, _ rule: DeleteRule = .nullify)
      -> RelationshipDescription
    {
      RelationshipDescription(name, to: entity, maxCount: 1, deleteRule: rule)
    }
    func toMany(
      _ name: String, _ entity: EntityDescription, isOrdered: Bool = false, _ rule: DeleteRule = .nullify
    ) -> RelationshipDescription {
      RelationshipDescription(name, to: entity, maxCount: 0, isOrdered: isOrdered, deleteRule: rule)
    }
    func pair(_ a: RelationshipDescription, _ b: RelationshipDescription) {
      a.inverseRelationship = b
      b.inverseRelationship = a
    }
    let (employer, employees) = (toOne("employer", company), toMany("employees", person))
    let (visited, visitors) = (toOne("visited", company), toMany("visitors", person, isOrdered: true))
    let (watched, watchers) = (toOne("watched", company), toMany("watchers", person, .noAction))
    let (parent, children) = (toOne("parent", person), toMany("children", person, .cascade))
    let (seat, sitter) = (toOne("seat", address), toOne("sitter", person))
    let (den, owner) = (toOne("den", address, .noAction), toOne("owner", person))
    let (tags, people) = (toMany("tags", tag, isOrdered: true), toMany("people", person, isOrdered: true))
    let (likes, fans) = (toMany("likes", company), toMany("fans", person))
    let friends = toMany("friends", person)
    friends.inverseRelationship = friends
    pair(employer, employees)
    pair(visited, visitors)
    pair(watched, watchers)
    pair(parent, children)
    pair(seat, sitter)
    pair(den, owner)
    pair(tags, people)
    pair(likes, fans)
    let ghost = toOne("ghost", company)
    ghost.isTransient = true
    add(
      person, employer, visited, watched, parent, children, toOne("favourite", company), seat, den, friends,
      tags, likes, toMany("route", tag, isOrdered: true), toMany("links", person), ghost)
    add(student, toOne("tutor", person))
    add(company, employees, visitors, watchers, fans)
    add(address, sitter, owner)
    add(tag, people)
    return model
  }

  // MARK: Names

  func relationship(_ name: String) -> RelationshipSchema {
    guard let relationship = schema.relationships.first(where: { $0.name == name }) else {
      preconditionFailure("no relationship \(name)")
    }
    return relationship
  }

  func reference(_ entity: String, _ key: UInt64) -> UInt64 {
    Reference.bits(key, entityCode: store.rowStamp(entity: base.entity(entity).number).entityCode)
  }

  func hierarchy(_ entity: String) -> Int { base.entity(entity).hierarchyNumber }

  // MARK: Changes

  /// A row to insert under a key, or a new one, with references to rows by their entities and keys.
  func insert(_ entity: String, _ key: UInt64? = nil, _ references: [String: (String, UInt64)] = [:]) throws
    -> RowChange
  {
    try base.insert(
      entity, references.mapValues { .reference(reference($0.0, $0.1)) }, key: key)
  }

  func update(_ entity: String, _ key: UInt64, _ references: [String: (String, UInt64)?]) throws -> RowChange
  {
    guard let row = try base.row(entity, key) else { throw Missing() }
    return try base.update(
      row, references.mapValues { $0.map { .reference(reference($0.0, $0.1)) } ?? .null })
  }

  struct Missing: Error {}

  func delete(_ entity: String, _ key: UInt64) -> RowDeletion {
    RowDeletion(
      entity: base.entity(entity).number, primaryKey: key, baseVersion: RowDeletion.anyVersion)
  }

  func add(_ name: String, _ owner: UInt64, _ member: (String, UInt64), at position: UInt64? = nil)
    -> EdgeChange
  {
    EdgeChange(
      relationship: relationship(name).number, owner: owner, member: reference(member.0, member.1),
      kind: .add(position: position))
  }

  func remove(_ name: String, _ owner: UInt64, _ member: (String, UInt64)) -> EdgeChange {
    EdgeChange(
      relationship: relationship(name).number, owner: owner, member: reference(member.0, member.1),
      kind: .remove)
  }

  @discardableResult
  func commit(
    inserts: [RowChange] = [], updates: [RowChange] = [], deletes: [RowDeletion] = [],
    edges: [EdgeChange] = []
  ) throws -> CommitResult {
    let changes = ChangeSet(inserts: inserts, updates: updates, deletes: deletes, edges: edges)
    return try base.commit([changes])[0].get()
  }

  // MARK: Reading

  /// The keys of the members; also asks by every other way and demands the same answer.
  func members(_ name: String, _ owner: UInt64, hidden: Bool = false) throws -> [UInt64] {
    let edges = EdgeSet(relationship: relationship(name).number, isHiddenInverse: hidden)
    let members = try store.members(edges, of: owner)
    let together = try store.members(edges, of: [owner, owner + 1, owner])
    guard try store.memberCount(edges, of: owner) == members.count, together[0] == members,
      together[2] == members, try together[1] == store.members(edges, of: owner + 1),
      try members.allSatisfy({ try store.hasMember(edges, of: owner, $0) })
    else { throw Contradiction() }
    if relationship(name).isOrdered && !hidden {
      let placed = try store.placedMembers(edges, of: owner)
      guard placed.map(\.member) == members, placed.map(\.position) == placed.map(\.position).sorted() else {
        throw Contradiction()
      }
    }
    return members.map { Reference.primaryKey($0) }
  }

  struct Contradiction: Error {}

  func positions(_ name: String, _ owner: UInt64) throws -> [UInt64] {
    try store.placedMembers(EdgeSet(relationship: relationship(name).number), of: owner).map(\.position)
  }

  func version(_ entity: String, _ key: UInt64) throws -> UInt32? {
    try base.row(entity, key)?.snapshot?.version
  }

  /// What a commit that must fail says dangles, as text: relationship, source, target, whether it is left behind.
  func dangling(
    inserts: [RowChange] = [], updates: [RowChange] = [], deletes: [RowDeletion] = [],
    edges: [EdgeChange] = []
  ) throws -> [String] {
    let before = try store.textDump()
    do {
      try commit(inserts: inserts, updates: updates, deletes: deletes, edges: edges)
      return ["nothing"]
    } catch let error as DanglingReferences {
      guard try store.textDump() == before else { throw Contradiction() }
      return error.references.map {
        "\(schema.relationships[$0.relationship].name) \($0.source)→\($0.target)"
          + ($0.isLeftBehind ? " behind" : "") + ($0.isSourceMissing ? " sourceless" : "")
          + ($0.isOneSided ? " one-sided" : "")
      }.sorted()
    }
  }
}
