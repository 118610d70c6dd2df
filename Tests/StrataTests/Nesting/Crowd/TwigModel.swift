import Foundation
import Strata

/// The model of `TreeCrowd`: twigs that come in pairs, and tallies with a column for each place of the tree.
enum TwigModel {
  static func make() -> ManagedObjectModel {
    let columns = (0..<TreeCrowd.places).map {
      AttributeDescription("column\($0)", .integer64, isOptional: false, defaultValue: 0)
    }
    return ManagedObjectModel(entities: [
      EntityDescription(
        "Twig", managedObjectClass: Twig.self,
        properties: [
          AttributeDescription("owner", .integer64, isOptional: false),
          AttributeDescription("pair", .integer64, isOptional: false),
          AttributeDescription("side", .integer64, isOptional: false),
          AttributeDescription("value", .integer64, isOptional: false, defaultValue: 0),
          AttributeDescription("text", .string),
        ], indexes: [FetchIndexDescription(name: "byOwner", attributes: ["owner", "pair"])]),
      EntityDescription(
        "Tally", managedObjectClass: Tally.self,
        properties: [AttributeDescription("number", .integer64, isOptional: false)] + columns),
    ])
  }
}

/// One of a pair: both of the same value, edited together by one owner.
final class Twig: ManagedObject {
  override class var declaredSlots: [String]? { ["owner", "pair", "side", "value", "text"] }

  var owner: Int {
    get { Int(readInt64(slot: 0)) }
    set { write(Int64(newValue), slot: 0) }
  }
  var pair: Int {
    get { Int(readInt64(slot: 1)) }
    set { write(Int64(newValue), slot: 1) }
  }
  var side: Int {
    get { Int(readInt64(slot: 2)) }
    set { write(Int64(newValue), slot: 2) }
  }
  var value: Int {
    get { Int(readInt64(slot: 3)) }
    set { write(Int64(newValue), slot: 3) }
  }
  /// Repeats the value; now and then too long for a row.
  var text: String? {
    get { readString(slot: 4) }
    set { write(newValue, slot: 4) }
  }

  static func text(of value: Int) -> String {
    value % 7 == 0 ? "\(value)" + String(repeating: "~", count: 3_000) : "\(value)"
  }

  func set(_ value: Int) {
    self.value = value
    text = Self.text(of: value)
  }
}

/// Counts, in a column for each place.
final class Tally: ManagedObject {
  override class var declaredSlots: [String]? { ["number"] + (0..<TreeCrowd.places).map { "column\($0)" } }

  var number: Int {
    get { Int(readInt64(slot: 0)) }
    set { write(Int64(newValue), slot: 0) }
  }

  func column(_ place: Int) -> Int { Int(readInt64(slot: 1 + place)) }
  func raise(_ place: Int) { write(Int64(column(place) + 1), slot: 1 + place) }
}

/// What one place has: the value of each pair, and its column of each tally.
struct TwigState: Sendable {
  var twigs: [Int: Int] = [:]
  var tallies = [Int](repeating: 0, count: TreeCrowd.tallies)

  /// The first pairs that differ.
  static func difference(_ found: [Int: Int], _ expected: [Int: Int]) -> String {
    let wrong = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
    return wrong.prefix(5).map { pair in
      "pair \(pair) is \(found[pair].map { "\($0)" } ?? "gone"), should be \(expected[pair].map { "\($0)" } ?? "gone")"
    }.joined(separator: "; ")
  }
}
