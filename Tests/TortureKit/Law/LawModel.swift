import Foundation
import Strata

/// What the fetched results of the law are about.
///
///     Item ──group──▶ Group     with `items`; delete rule of `items` nullify
///     Item ──tags──▶▶ Tag       with `items`
///     Item ──spare──▶ Group     nothing leads back
///      └ Special                a subentity
///     Group ──area──▶ Area      with `groups`
public enum LawModel {
  public static func make(isIndexed: Bool) -> ManagedObjectModel {
    let item = EntityDescription(
      "Item",
      properties: [
        AttributeDescription("name", .string, isOptional: true),
        AttributeDescription("value", .integer64, isOptional: true),
        AttributeDescription("kind", .string, isOptional: true),
      ])
    let special = EntityDescription(
      "Special", properties: [AttributeDescription("extra", .integer64, isOptional: true)])
    item.subentities = [special]
    let group = EntityDescription(
      "Group",
      properties: [
        AttributeDescription("name", .string, isOptional: true),
        AttributeDescription("rank", .integer64, isOptional: true),
      ])
    let tag = EntityDescription(
      "Tag", properties: [AttributeDescription("weight", .integer64, isOptional: true)])
    let area = EntityDescription(
      "Area", properties: [AttributeDescription("title", .string, isOptional: true)])
    join(item, "group", 1, group, "items", 0)
    join(item, "tags", 0, tag, "items", 0)
    join(group, "area", 1, area, "groups", 0)
    item.properties.append(RelationshipDescription("spare", to: group, maxCount: 1))
    if isIndexed {
      item.indexes = [
        FetchIndexDescription(name: "byKindValue", attributes: ["kind", "value"]),
        FetchIndexDescription(name: "byValue", attributes: ["value"]),
        FetchIndexDescription(name: "byName", attributes: ["name"]),
      ]
      group.indexes = [FetchIndexDescription(name: "byName", attributes: ["name"])]
    }
    return ManagedObjectModel(entities: [item, special, group, tag, area])
  }

  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription,
    _ inverseName: String, _ inverseMaxCount: Int
  ) {
    let there = RelationshipDescription(name, to: right, maxCount: maxCount)
    let back = RelationshipDescription(inverseName, to: left, maxCount: inverseMaxCount)
    there.inverseRelationship = back
    back.inverseRelationship = there
    left.properties.append(there)
    right.properties.append(back)
  }

  /// A request and its section key path.
  struct Query {
    let name: String
    let request: FetchRequest<ManagedObject>
    let section: String?
  }

  /// Sections by an attribute, by a related object's, none; predicates on the object and on others; windows.
  static func queries() throws -> [Query] {
    func query(
      _ sorts: [FetchSort], section: String? = nil, _ format: String? = nil, limit: Int = 0, offset: Int = 0,
      entity: String = "Item", subentities: Bool = true
    ) throws -> Query {
      var request = FetchRequest<ManagedObject>(
        entityName: entity, predicate: try format.map { try FetchPredicate(format: $0) },
        sortDescriptors: sorts)
      request.fetchLimit = limit
      request.fetchOffset = offset
      request.includesSubentities = subentities
      request.fetchBatchSize = 7
      let window = limit + offset > 0 ? " window \(offset)+\(limit)" : ""
      return Query(
        name: "\(entity) by \(sorts.map(\.key)) in \(section ?? "-") where \(format ?? "-")\(window)",
        request: request, section: section)
    }
    let (kind, value, name) = (FetchSort("kind"), FetchSort("value"), FetchSort("name"))
    return [
      try query([kind, value], section: "kind"),
      try query([value], "value > 3"),
      try query([FetchSort("group.name"), FetchSort("value", ascending: false)], section: "group.name"),
      try query([FetchSort("kind", ascending: false), name], section: "kind", "group.rank >= 2"),
      try query([name], "ANY tags.weight > 2"),
      try query([value], limit: 5),
      try query([FetchSort("value", ascending: false), name], limit: 4, offset: 3),
      try query([kind, value], section: "kind", "value > 1", limit: 7),
      try query([value, name], "tags.@count > 1"),
      try query([FetchSort("group.rank"), name], section: "group.rank", "value != 5"),
      try query([name], entity: "Item", subentities: false),
      try query([value], section: "value", entity: "Special"),
      try query([FetchSort("group.area.title"), name], section: "group.area.title"),
      try query([FetchSort("spare.name"), value]),
      try query([name], "SUBQUERY(tags, $t, $t.weight > 1).@count >= 1"),
      try query([name], entity: "Group"),
      try query([name], "ANY items.value > 6", entity: "Group"),
      try query([FetchSort("rank"), name], section: "rank", "items.@count < 4", entity: "Group"),
      try query([value, kind], "spare.rank > 1", limit: 6),
      try query([], "value > 3"),
      try query([], "group.rank > 1", limit: 6, offset: 2),
    ]
  }
}
