/// The IDs of the rows that a batch has inserted, each made when it is asked for: next to no memory, however many there are.
///
/// Safe to carry to other queues.
public struct BatchObjectIDs: RandomAccessCollection, Sendable {
  private struct Part {
    let token: StoreEntityToken
    let keys: KeyList
    let start: Int
  }

  private let parts: [Part]
  /// How many rows the batch has inserted.
  public let count: Int

  init(_ keys: BatchKeys, _ binding: StoreBinding) {
    var (parts, count): ([Part], Int) = ([], 0)
    for (entity, keys) in keys.lists.enumerated() where !keys.isEmpty {
      guard let bound = binding.entities[entity] else { continue }
      parts.append(Part(token: bound.token, keys: keys, start: count))
      count += keys.count
    }
    (self.parts, self.count) = (parts, count)
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { count }

  public subscript(place: Int) -> ManagedObjectID {
    precondition(place >= 0 && place < count, "a place outside the list")
    let part = parts[(0..<parts.count).partitioningIndex { parts[$0].start > place } - 1]
    return ManagedObjectID(token: part.token, primaryKey: part.keys[place - part.start])
  }
}
