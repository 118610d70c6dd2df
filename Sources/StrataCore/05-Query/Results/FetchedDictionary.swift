import Foundation

/// One row of a dictionary result: values by column, in the order of the columns.
///
///     var request = FetchRequest<FetchedDictionary>(entityName: "Flight")
///     request.propertiesToFetch = ["carrier", .count(as: "flights")]
///     request.propertiesToGroupBy = ["carrier"]
///     for row in try context.fetch(request) { print(row.string("carrier") ?? "?", row.integer("flights") ?? 0) }
///
/// A value: it belongs to no context. All rows of a result share their column names.
public struct FetchedDictionary: Sendable {
  /// The value in a column.
  public enum Value: Sendable, Hashable {
    /// The value of an attribute or of an expression.
    case value(AttributeValue)
    /// The other end of a to-one relationship, or the object itself.
    case object(ManagedObjectID)
  }

  let columns: FetchedColumns
  let values: [Value]

  init(_ columns: FetchedColumns, _ values: [Value]) {
    self.columns = columns
    self.values = values
  }

  /// The names of the columns, in order.
  public var keys: [String] { columns.names }

  /// The value in the column `name`; nil for an unknown column and for one of objects, `.null` for no value.
  public subscript(name: String) -> AttributeValue? {
    guard let place = columns.places[name], case .value(let value) = values[place] else { return nil }
    return value
  }

  /// The value in the column at `place`.
  public subscript(place: Int) -> Value { values[place] }

  /// The object in the column `name`; nil when there is none.
  public func objectID(_ name: String) -> ManagedObjectID? {
    guard let place = columns.places[name], case .object(let identifier) = values[place] else { return nil }
    return identifier
  }

  /// The integer in the column `name`; nil when there is none.
  public func integer(_ name: String) -> Int? {
    guard case .integer(let value)? = self[name] else { return nil }
    return Int(value)
  }

  /// The number in the column `name` as a double; nil when there is none.
  public func double(_ name: String) -> Double? {
    guard case .double(let value)? = self[name]?.converted(to: .double) else { return nil }
    return value
  }

  /// The string in the column `name`; nil when there is none.
  public func string(_ name: String) -> String? {
    guard case .string(let value)? = self[name] else { return nil }
    return value
  }

  /// The date in the column `name`; nil when there is none.
  public func date(_ name: String) -> Date? {
    guard case .date(let value)? = self[name] else { return nil }
    return value
  }

  /// The row as a dictionary: values as key-value coding hands them out, object IDs, what the transformer makes of a
  /// transformable attribute (nothing, when it fails). Columns without a value are left out, as in Core Data.
  public var dictionary: [String: Any] {
    var result: [String: Any] = [:]
    for (place, name) in columns.names.enumerated() {
      switch values[place] {
      case .object(let identifier): result[name] = identifier
      case .value(.data(let bytes)):
        if let transformer = columns.transformers[place] {
          result[name] = try? transformer.reverse(bytes)
        } else {
          result[name] = bytes
        }
      case .value(let value): result[name] = value.anyValue
      }
    }
    return result
  }
}

extension FetchedDictionary: FetchRequestResult {
  public static var fetchResultType: FetchResultType { .dictionary }
}

extension FetchedDictionary: Hashable {
  public static func == (left: FetchedDictionary, right: FetchedDictionary) -> Bool {
    left.values == right.values && left.columns.names == right.columns.names
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(values) }
}

extension FetchedDictionary: CustomStringConvertible {
  /// The columns with their values, in order.
  public var description: String {
    let parts = zip(columns.names, values).map { name, value in
      switch value {
      case .value(let value): "\(name): \(value)"
      case .object(let identifier): "\(name): \(identifier)"
      }
    }
    return "{\(parts.joined(separator: ", "))}"
  }
}

extension FetchedDictionary.Value {
  /// No value.
  static let null = FetchedDictionary.Value.value(.null)

  /// The order of rows: values as everywhere, no value first, objects by their primary keys, behind values.
  static func compare(_ left: Self, _ right: Self, by comparator: TextCollation) -> Int {
    switch (left, right) {
    case (.value(let a), .value(let b)): return comparator.order(a, b)
    case (.object(let a), .object(let b)):
      return a.primaryKey < b.primaryKey ? -1 : a.primaryKey == b.primaryKey ? 0 : 1
    case (.value, .object): return -1
    case (.object, .value): return 1
    }
  }
}

/// The columns that all rows of a result share.
final class FetchedColumns: Sendable {
  let names: [String]
  let places: [String: Int]
  /// What makes values of transformable attributes from their bytes.
  let transformers: [(any AttributeTransformer)?]

  init(_ names: [String], transformers: [(any AttributeTransformer)?]) {
    self.names = names
    self.transformers = transformers
    places = Dictionary(names.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }
}
