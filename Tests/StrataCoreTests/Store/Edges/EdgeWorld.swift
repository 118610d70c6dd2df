import Foundation

@testable import StrataCore

/// What a store of `EdgeFixture`'s model ought to hold, in plain dictionaries.
struct EdgeWorld {
  struct Node: Hashable, Comparable {
    /// The entity at the root of its hierarchy.
    var root: String
    var key: UInt64
    static func < (a: Node, b: Node) -> Bool { (a.root, a.key) < (b.root, b.key) }
  }

  struct Row {
    var entity: String
    /// By to-one relationship.
    var references: [String: UInt64] = [:]
  }

  struct Members {
    /// By key; positions are 0 without order.
    var positions: [UInt64: UInt64] = [:]
    var inOrder: [UInt64] { positions.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key) }
  }

  var rows: [Node: Row] = [:]
  /// Members of relationships that are ordered or stored only as edges, by relationship and owner.
  var stored: [String: [UInt64: Members]] = [:]

  /// To-one relationships: name, declaring entity, destination, inverse, whether that is to-one, whether it has noAction.
  struct ToOne {
    let name: String
    let owner: String
    let destination: String
    let inverse: String?
    var isOneToOne = false
    var mayDangle = false
  }

  static let toOnes = [
    ToOne(name: "employer", owner: "Person", destination: "Company", inverse: "employees"),
    ToOne(name: "visited", owner: "Person", destination: "Company", inverse: "visitors"),
    ToOne(name: "watched", owner: "Person", destination: "Company", inverse: "watchers", mayDangle: true),
    ToOne(name: "parent", owner: "Person", destination: "Person", inverse: "children"),
    ToOne(name: "favourite", owner: "Person", destination: "Company", inverse: nil),
    ToOne(name: "tutor", owner: "Student", destination: "Person", inverse: nil),
    ToOne(name: "seat", owner: "Person", destination: "Address", inverse: "sitter", isOneToOne: true),
    ToOne(name: "sitter", owner: "Address", destination: "Person", inverse: "seat", isOneToOne: true),
    ToOne(name: "den", owner: "Person", destination: "Address", inverse: "owner", isOneToOne: true),
    ToOne(
      name: "owner", owner: "Address", destination: "Person", inverse: "den", isOneToOne: true,
      mayDangle: true),
  ]

  /// To-many relationships that are stored only as edges: name, source, destination, inverse.
  static let toManys: [(name: String, source: String, destination: String, inverse: String?)] = [
    ("friends", "Person", "Person", "friends"), ("tags", "Person", "Tag", "people"),
    ("people", "Tag", "Person", "tags"), ("likes", "Person", "Company", "fans"),
    ("fans", "Company", "Person", "likes"), ("route", "Person", "Tag", nil),
    ("links", "Person", "Person", nil),
  ]

  static let ordered: Set = ["visitors", "tags", "people", "route"]
  static let roots = ["Person", "Company", "Address", "Tag"]

  static func root(_ entity: String) -> String { entity == "Student" ? "Person" : entity }

  func nodes(_ root: String) -> [Node] { rows.keys.filter { $0.root == root }.sorted() }

  /// The to-one relationships that a row has.
  func toOnes(of row: Row) -> [ToOne] {
    Self.toOnes.filter { $0.owner == row.entity || $0.owner == "Person" && row.entity == "Student" }
  }

  /// The rows that refer to a row by a relationship.
  func referrers(_ name: String, _ target: UInt64) -> [UInt64] {
    rows.filter { $0.value.references[name] == target }.map(\.key.key).sorted()
  }

  /// The members of a relationship, or of its hidden inverse, in the order of the store.
  func members(_ name: String, _ owner: UInt64, hidden: Bool) -> [UInt64] {
    if let toOne = Self.toOnes.first(where: { $0.name == name }) {
      return hidden && toOne.inverse == nil ? referrers(name, owner) : []
    }
    if hidden { return (stored[name] ?? [:]).filter { $0.value.positions[owner] != nil }.keys.sorted() }
    if let toOne = Self.toOnes.first(where: { $0.inverse == name && !$0.isOneToOne }), name != "visitors" {
      return referrers(toOne.name, owner)
    }
    return stored[name]?[owner]?.inOrder ?? []
  }
}
