import Foundation

/// Where a page of a fetch ended: what the last object was sorted by, and its identity.
///
/// The next page begins right behind it, whatever has been inserted, deleted or changed meanwhile: nothing that stays in its place
/// is returned twice or left out. A value that may be kept, sent and stored; it belongs to the request it was made by, that is to
/// its entity, predicate, sort keys and stores.
public struct FetchContinuation: Sendable, Hashable {
  /// The entity of the request.
  public let entityName: String
  /// What the last object of the page was sorted by, in the order of the sort descriptors.
  public let values: [AttributeValue]
  /// The store of the last object.
  public let storeIdentifier: UUID
  let primaryKey: UInt64
  /// Tells requests apart.
  let fingerprint: UInt64

  init<R>(after request: FetchRequest<R>, values: [AttributeValue], storeIdentifier: UUID, primaryKey: UInt64)
  {
    entityName = request.entityName
    self.values = values
    self.storeIdentifier = storeIdentifier
    self.primaryKey = primaryKey
    fingerprint = Self.fingerprint(of: request)
  }

  /// A number that differs, in all likelihood, for requests that return other objects or another order. The same in every process.
  static func fingerprint<R>(of request: FetchRequest<R>) -> UInt64 {
    var text = "\(request.entityName)\n\(request.includesSubentities)\n\(request.includesPendingChanges)\n"
    for sort in request.sortDescriptors {
      text += "\(sort.key)\(sort.ascending ? "+" : "-")"
      if sort.comparator != .bytes { text += " \(sort.comparator)" }
      text += "\n"
    }
    for store in (request.affectedStores ?? []).map(\.uuidString).sorted() { text += "\(store)\n" }
    text += request.predicate.map { "\($0)" } ?? ""
    return text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }
}

extension FetchContinuation: CustomStringConvertible {
  /// The entity, and what the page ended with.
  public var description: String {
    "behind \(entityName)/p\(primaryKey)"
      + (values.isEmpty ? "" : " at " + values.map { "\($0)" }.joined(separator: ", "))
  }
}

extension FetchContinuation: Codable {
  private enum CodingKeys: String, CodingKey {
    case entity, store, key, request, values
  }

  /// Reads what `encode(to:)` has written.
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    entityName = try container.decode(String.self, forKey: .entity)
    storeIdentifier = try container.decode(UUID.self, forKey: .store)
    primaryKey = try container.decode(UInt64.self, forKey: .key)
    fingerprint = try container.decode(UInt64.self, forKey: .request)
    guard primaryKey < ManagedObjectID.primaryKeyLimit else {
      throw DecodingError.dataCorruptedError(
        forKey: .key, in: container, debugDescription: "no primary key is that large")
    }
    var list = try container.nestedUnkeyedContainer(forKey: .values)
    var values: [AttributeValue] = []
    while !list.isAtEnd {
      // References are bare numbers.
      if let bits = try? list.decode(UInt64.self) {
        values.append(.reference(bits))
      } else {
        values.append(try list.decode(ValueDocument.self).value)
      }
    }
    self.values = values
  }

  /// Writes the place between two pages, for a later run of the program.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(entityName, forKey: .entity)
    try container.encode(storeIdentifier, forKey: .store)
    try container.encode(primaryKey, forKey: .key)
    try container.encode(fingerprint, forKey: .request)
    var list = container.nestedUnkeyedContainer(forKey: .values)
    for value in values {
      if case .reference(let bits) = value {
        try list.encode(bits)
      } else {
        try list.encode(ValueDocument(value))
      }
    }
  }
}

/// Where a request begins: behind an object, by what it was sorted by.
struct FetchStart: Sendable {
  let values: [AttributeValue]
  let primaryKey: UInt64
  /// The place of the object's store among the coordinator's; -1 when it is gone.
  let storeIndex: Int
  /// Whether the object itself comes behind it: in stores behind the object's own.
  var includesEqual = false

  /// - Throws: ``FetchError`` for a continuation of another request.
  init<R>(
    _ continuation: FetchContinuation, _ request: FetchRequest<R>, _ sorts: [ResolvedSort], storeIndex: Int
  ) throws {
    let isOurs =
      continuation.fingerprint == FetchContinuation.fingerprint(of: request)
      && continuation.entityName == request.entityName && continuation.values.count == sorts.count
      && zip(continuation.values, sorts).allSatisfy { $0.fits($1.type) }
    guard isOurs else {
      throw FetchError(reason: .foreignContinuation, entityName: request.entityName, key: nil)
    }
    values = continuation.values
    primaryKey = continuation.primaryKey
    self.storeIndex = storeIndex
  }
}

extension FetchStart {
  /// The smallest primary key that lies behind the start among objects of the same values, as index keys end with it.
  var firstKeyBytes: [UInt8] {
    withUnsafeBytes(of: (includesEqual ? primaryKey : primaryKey + 1).bigEndian, Array.init)
  }
}

extension ResolvedFetchRequest {
  /// Whether an object lies behind the start of the request.
  func isBehindStart(_ start: FetchStart, _ values: (_ place: Int) throws -> AttributeValue, _ key: UInt64)
    rethrows
    -> Bool
  {
    for (place, sort) in sorts.enumerated() {
      let order = sort.comparator.order(try values(place), start.values[place])
      if order != 0 { return (order > 0) == sort.isAscending }
    }
    if key == start.primaryKey { return start.includesEqual }
    return (key > start.primaryKey) != keysDescend
  }
}
