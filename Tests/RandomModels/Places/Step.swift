import SwiftData

/// What a context is asked to do.
enum Step: Sendable {
  /// A new model, given its values and relationships before it is inserted, or behind that.
  case insert(uid: Int, Kind, [Field: PlainValue], [Link: [Int]], InsertionOrder)
  case set(uid: Int, [Field: PlainValue])
  case relate(uid: Int, Link, [Int])
  case delete(uid: Int)
  /// Marks the models to be deleted, then calls that off.
  case deleteAndInsert(uid: Int)
  case save
  case saveInTransaction(uid: Int, [Field: PlainValue])
  case rollback
  case forget(Set<Int>)
  case ask(Question, Answer)
  case deleteStored(Kind, name: String)
  case compare(Expected)
}

enum InsertionOrder: Int, CaseIterable, Sendable {
  case valuesFirst, insertionFirst
  /// Not inserted by itself: what it is related to brings it in, if it is related to anything.
  case byRelation
}

/// What a context should show.
struct Expected: Sendable {
  let records: [Int: Record]
  let inserted: Set<Int>
  let deleted: Set<Int>
  /// What the store has.
  let stored: Set<Int>
  /// Nil where something was set to what it was.
  let hasChanges: Bool?
}

/// What a question should be answered with.
struct Answer: Sendable {
  /// In order, when the question has one.
  let uids: [Int]
  /// How many there are in the store.
  let stored: Int
}

/// What a context shows is not what it should.
struct Disagreement: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
