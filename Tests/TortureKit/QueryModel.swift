import Foundation
import Strata

/// The model of the random queries: every attribute type, inheritance, every kind of relationship.
///
///     Agent ──base──▶ Place             to-one; the inverse, `agents`, is to-many
///     Agent ──boss──▶ Agent             with `staff`
///     Agent ──tags──▶▶ Tag              many-to-many with `agents`
///     Agent ──likes──▶▶ Tag             to-many without inverse
///     Agent ──home──▶ Place             to-one without inverse
///     Agent ──desk──▶ Desk              one-to-one with `owner`
///     Agent ──visits──▶▶ Visit          ordered, the inverse, `agent`, is to-one
///     Visit ──place──▶ Place            with `visits`
///      └ Pilot                          a subentity of Agent
package enum QueryModel {
  /// A relationship as the plain reference model knows it.
  package struct Link {
    package let destination: String
    package let isToMany: Bool
    /// The to-one relationship whose other side it is: then it follows from the records there.
    package var inverseToOne: String?
    /// The to-many relationship that leads back.
    package var inverseToMany: String?
  }

  package static let agentAttributes: [(name: String, type: AttributeType)] = [
    ("serial", .integer64), ("name", .string), ("nick", .string), ("short", .integer16),
    ("medium", .integer32),
    ("long", .integer64), ("flag", .boolean), ("ratio", .float), ("measure", .double), ("price", .decimal),
    ("moment", .date), ("token", .uuid), ("link", .uri), ("blob", .binaryData),
  ]

  /// By entity, inherited ones too.
  package static let attributes: [String: [(name: String, type: AttributeType)]] = [
    "Agent": agentAttributes,
    "Pilot": agentAttributes + [("hours", .integer32)],
    "Place": [
      ("serial", .integer64), ("name", .string), ("code", .string), ("size", .integer32), ("height", .double),
    ],
    "Tag": [("serial", .integer64), ("label", .string), ("weight", .integer64)],
    "Visit": [("serial", .integer64), ("day", .date), ("score", .integer32), ("note", .string)],
    "Desk": [("serial", .integer64), ("number", .integer32)],
  ]

  private static let agentLinks: [String: Link] = [
    "base": Link(destination: "Place", isToMany: false, inverseToMany: "agents"),
    "boss": Link(destination: "Agent", isToMany: false, inverseToMany: "staff"),
    "staff": Link(destination: "Agent", isToMany: true, inverseToOne: "boss"),
    "tags": Link(destination: "Tag", isToMany: true, inverseToMany: "agents"),
    "likes": Link(destination: "Tag", isToMany: true),
    "home": Link(destination: "Place", isToMany: false),
    "desk": Link(destination: "Desk", isToMany: false, inverseToOne: "owner"),
    "visits": Link(destination: "Visit", isToMany: true, inverseToOne: "agent"),
  ]

  package static let links: [String: [String: Link]] = [
    "Agent": agentLinks,
    "Pilot": agentLinks,
    "Place": [
      "agents": Link(destination: "Agent", isToMany: true, inverseToOne: "base"),
      "visits": Link(destination: "Visit", isToMany: true, inverseToOne: "place"),
    ],
    "Tag": ["agents": Link(destination: "Agent", isToMany: true, inverseToMany: "tags")],
    "Visit": [
      "agent": Link(destination: "Agent", isToMany: false, inverseToMany: "visits"),
      "place": Link(destination: "Place", isToMany: false, inverseToMany: "visits"),
    ],
    "Desk": ["owner": Link(destination: "Agent", isToMany: false, inverseToOne: "desk")],
  ]

  package static func isNumber(_ type: AttributeType) -> Bool {
    [.integer16, .integer32, .integer64, .double, .float, .decimal].contains(type)
  }

  /// By name: attributes of the same name are of one type.
  package static let types = Dictionary(
    attributes.values.flatMap { $0.map { ($0.name, $0.type) } }, uniquingKeysWith: { first, _ in first })

  package static func isKind(_ entity: String, of other: String) -> Bool {
    entity == other || (entity == "Pilot" && other == "Agent")
  }

  package static func make(isIndexed: Bool) -> ManagedObjectModel {
    var entities: [String: EntityDescription] = [:]
    for name in ["Agent", "Place", "Tag", "Visit", "Desk"] {
      let entity = EntityDescription(name)
      entity.properties = (attributes[name] ?? []).map {
        AttributeDescription($0.name, $0.type, isOptional: true)
      }
      if isIndexed { entity.indexes = indexes(name) }
      entities[name] = entity
    }
    let pilot = EntityDescription(
      "Pilot", properties: [AttributeDescription("hours", .integer32, isOptional: true)])
    if isIndexed { pilot.indexes = [FetchIndexDescription(name: "byHours", attributes: ["hours"])] }
    entities["Agent"]?.subentities = [pilot]
    if let agent = entities["Agent"], let place = entities["Place"], let tag = entities["Tag"],
      let visit = entities["Visit"], let desk = entities["Desk"]
    {
      join(agent, "base", 1, place, "agents", 0)
      join(agent, "boss", 1, agent, "staff", 0)
      join(agent, "tags", 0, tag, "agents", 0)
      join(agent, "desk", 1, desk, "owner", 1)
      join(agent, "visits", 0, visit, "agent", 1, isOrdered: true)
      join(visit, "place", 1, place, "visits", 0)
      agent.properties.append(RelationshipDescription("likes", to: tag, maxCount: 0))
      agent.properties.append(RelationshipDescription("home", to: place, maxCount: 1))
    }
    return ManagedObjectModel(
      entities: entities.values.sorted { ($0.name ?? "") < ($1.name ?? "") } + [pilot])
  }

  private static func indexes(_ entity: String) -> [FetchIndexDescription] {
    func index(_ name: String, _ attributes: String...) -> FetchIndexDescription {
      FetchIndexDescription(name: name, attributes: attributes)
    }
    return switch entity {
    case "Agent":
      [
        index("byName", "name"), index("byMedium", "medium"), index("byFlagShort", "flag", "short"),
        index("byMeasure", "measure"), index("byMoment", "moment"), index("byPrice", "price"),
        index("byRatioNick", "ratio", "nick"), index("byToken", "token"), index("byLink", "link"),
        index("byLongName", "long", "name"),
        FetchIndexDescription(
          name: "byShortDown",
          elements: [FetchIndexElementDescription(propertyName: "short", isAscending: false)]),
      ]
    case "Place": [index("byCode", "code"), index("bySizeHeight", "size", "height")]
    case "Tag": [index("byLabel", "label")]
    case "Visit": [index("byScore", "score"), index("byDayScore", "day", "score")]
    default: []
    }
  }

  private static func join(
    _ left: EntityDescription, _ name: String, _ maxCount: Int, _ right: EntityDescription,
    _ inverseName: String, _ inverseMaxCount: Int, isOrdered: Bool = false
  ) {
    let there = RelationshipDescription(name, to: right, maxCount: maxCount, isOrdered: isOrdered)
    let back = RelationshipDescription(inverseName, to: left, maxCount: inverseMaxCount)
    there.inverseRelationship = back
    back.inverseRelationship = there
    left.properties.append(there)
    right.properties.append(back)
  }
}
