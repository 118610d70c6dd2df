import Foundation
import Strata
import StrataCore
import Testing

@testable import StrataCommand

/// What a failure advises can be done with that store: commands that read files are no help with an address.
@Suite struct ServerAdviceTests {
  static let errors: [any Error] = [
    StorageError(.damaged, operation: "read row", path: "", detail: "Book/p1 is damaged."),
    StorageError(.truncated, operation: "open store", path: "", detail: "Something is missing."),
    StorageError(.busy, operation: "open store", path: "", detail: "Somebody else uses the store."),
    CoreDataError(.persistentStoreIncompatibleVersionHash, "The store was written with another model."),
  ]

  @Test(arguments: errors.indices)
  func adviceForAnAddressNamesNoCommandOfFiles(place: Int) {
    let forFile = Failure(Self.errors[place], store: "A.strata").text
    #expect(forFile.contains("“strata "), "\(forFile)")
    for address in ["postgres://host/books", "postgresql://me@host/books?schema=s"] {
      let text = Failure(Self.errors[place], store: address).text
      #expect(!text.contains("“strata "), "\(text)")
    }
  }

  @Test func whatIsDamagedOnAServerIsMendedThere() {
    let text = Failure(Self.errors[0], store: "postgres://host/books").text
    #expect(text.contains("rename back") && text.contains("pg_dump") && text.contains("Book/p1"), "\(text)")
  }
}
