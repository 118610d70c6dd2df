import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataPostgres

/// Columns of taken-over tables that their owner calls otherwise since.
@Suite struct AdoptedRenameTests {
  /// A store that has taken the tables over, and is closed again.
  private func taken(_ stand: AdoptedStand) throws {
    let coordinator = try stand.open()
    for part in coordinator.persistentStores { try coordinator.remove(part) }
  }

  @Test(arguments: [
    (["full_name TO title"], ["“full_name” of “writer”, in which Writer.name is,", "it is “title” now"]),
    // Another column has the name by now.
    (
      ["email TO address", "note TO email"],
      ["“email” of “writer”, in which Writer.email is,", "“address” now"]
    ),
    (["full_name TO title", "born TO since"], ["“full_name”", "“born”", "Writer.name", "Writer.born"]),
    (["strata_version TO version"], ["“strata_version” of “writer”, which the store has added,"]),
  ]) func aRenamedColumnIsNamedByTheNextOpening(renamings: [String], parts: [String]) throws {
    let stand = try AdoptedStand()
    try taken(stand)
    for renaming in renamings { try stand.sql("ALTER TABLE \(stand.shop).writer RENAME \(renaming)") }
    let before = try stand.shape()
    let error = #expect(throws: StorageError.self) { try stand.open(adopts: false) }
    #expect(error?.kind == .invalid)
    for part in parts + ["RENAME COLUMN"] {
      #expect(error?.detail.contains(part) == true, "\(error?.detail ?? "")")
    }
    #expect(try stand.shape() == before)
    for renaming in renamings.reversed() {
      let names = renaming.components(separatedBy: " TO ")
      try stand.sql("ALTER TABLE \(stand.shop).writer RENAME \(names[1]) TO \(names[0])")
    }
    #expect(try stand.context(stand.open(adopts: false)).all("Writer").count == 3)
  }

  /// What the model does not name, the key and the table itself may be called whatever they like.
  @Test func otherNamesMayChange() throws {
    let stand = try AdoptedStand()
    try taken(stand)
    try stand.sql(
      """
      ALTER TABLE \(stand.shop).writer RENAME id TO number; ALTER TABLE \(stand.shop).writer RENAME note TO remark;
      ALTER TABLE \(stand.shop).writer RENAME TO author; ALTER TABLE \(stand.shop)."Book" DROP COLUMN shelf CASCADE;
      DROP TRIGGER stamps ON \(stand.shop)."Book";
      """)
    let context = stand.context(try stand.open(adopts: false))
    let ada = try #require(try context.all("Writer", Attribute("name") == "ada").first)
    #expect(ada.set("books").count == 2)
    ada.setValue("Ada", forKey: "name")
    try context.make("Book", ["title": "new", "writer": ada])
    try context.save()
    #expect(try stand.texts("SELECT full_name FROM \(stand.shop).author WHERE number = 1") == ["Ada"])
  }
}
