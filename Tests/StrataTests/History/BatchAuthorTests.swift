import Foundation
import Strata
import Testing

/// Which author a batch has.
struct BatchAuthorTests {
  @Test(
    "rule 278: a batch that a child executes is recorded with author and name of the root it goes through")
  func rootsAuthor() throws {
    let stand = try HistoryStand()
    let root = stand.context(author: "root", name: "below")
    let middle = ManagedObjectContext(.confinement, parent: root)
    middle.transactionAuthor = "middle"
    let child = ManagedObjectContext(.confinement, parent: middle)
    child.transactionAuthor = "child"
    child.name = "above"
    try child.execute(BatchInsertRequest(entityName: "Note", objects: [["title": "a"]]))
    try child.execute(
      BatchUpdateRequest(entityName: "Note", propertiesToUpdate: ["title": "b"]))
    try middle.execute(
      BatchDeleteRequest(fetchRequest: FetchRequest<ManagedObject>(entityName: "Note")))
    try root.execute(BatchInsertRequest(entityName: "Note", objects: [["title": "c"]]))
    let transactions = try stand.transactions()
    #expect(transactions.map(\.author) == ["root", "root", "root", "root"])
    #expect(transactions.map(\.contextName) == ["below", "below", "below", "below"])
  }

  @Test("rule 278: without an author of the root there is none")
  func noAuthor() throws {
    let stand = try HistoryStand()
    let child = ManagedObjectContext(.confinement, parent: stand.context())
    child.transactionAuthor = "child"
    try child.execute(BatchInsertRequest(entityName: "Note", objects: [["title": "a"]]))
    let transaction = try #require(try stand.transactions().first)
    #expect(transaction.author == nil && transaction.contextName == nil)
  }
}
