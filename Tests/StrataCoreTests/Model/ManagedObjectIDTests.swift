import Foundation
import Testing

@testable import StrataCore

@Suite struct ManagedObjectIDTests {
  private let store = UUID()

  private func token(_ entity: String, _ number: Int? = nil, root: String = "Item") -> StoreEntityToken {
    .token(storeIdentifier: store, entityName: entity, entityNumber: number, rootName: root)
  }

  @Test("IDs are equal when store, hierarchy and primary key are, temporary or not (rules 30, 31)")
  func equalityIsIdentityOfTheRecord() {
    let book = ManagedObjectID(token: token("Book"), primaryKey: 5)
    #expect(book == ManagedObjectID(token: token("Book"), primaryKey: 5, isTemporary: true))
    #expect(book == ManagedObjectID(token: token("Comic"), primaryKey: 5))
    #expect(book == ManagedObjectID(token: token("Book", 3), primaryKey: 5))
    #expect(book != ManagedObjectID(token: token("Book"), primaryKey: 6))
    #expect(book != ManagedObjectID(token: token("Book", root: "Book"), primaryKey: 5))
    let elsewhere = StoreEntityToken.token(
      storeIdentifier: UUID(), entityName: "Book", entityNumber: nil, rootName: "Item")
    #expect(book != ManagedObjectID(token: elsewhere, primaryKey: 5))
    let set: Set = [
      book, book.with(isTemporary: true), ManagedObjectID(token: token("Comic"), primaryKey: 5),
    ]
    #expect(set.count == 1)
    #expect(book.with(isTemporary: true).isTemporaryID && !book.isTemporaryID)
  }

  @Test("Sixteen bytes, no reference counted; tokens are unique also when asked for at once")
  func idsAreSmall() async {
    #expect(MemoryLayout<ManagedObjectID>.size == 16 && MemoryLayout<ManagedObjectID?>.size <= 17)
    #expect(_isPOD(ManagedObjectID.self))
    let store = store
    let tokens = await withTaskGroup(of: StoreEntityToken.self) { group in
      for _ in 0..<50 {
        group.addTask {
          .token(storeIdentifier: store, entityName: "Race", entityNumber: 1, rootName: "Race")
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(tokens.allSatisfy { $0 === tokens[0] })
  }

  @Test("The URI names store, concrete entity and key, and is taken apart again (rules 32, 34)")
  func urisRoundTrip() throws {
    for name in ["Book", "Büro & Co. #1?", "a%20b", "x:y@z", "空"] {
      for key in [0, 1, 0xFFFF_FFFF_FFFF] as [UInt64] {
        let id = ManagedObjectID(token: token(name), primaryKey: key)
        let parts = try #require(ManagedObjectID.parse(uri: id.uriRepresentation()))
        #expect(parts.storeIdentifier == store && parts.entityName == name && parts.primaryKey == key)
      }
    }
    let id = ManagedObjectID(token: token("Book"), primaryKey: 42, isTemporary: true)
    #expect(id.uriRepresentation().absoluteString == "x-coredata://\(store.uuidString)/Book/p42")
    #expect(id.entityName == "Book" && id.storeIdentifier == store)
  }

  @Test("Other URIs are nil, whatever they are")
  func hostileURIsAreNil() {
    let id = store.uuidString
    let texts = [
      "x-coredata://\(id)/Book/p", "x-coredata://\(id)/Book/p-1", "x-coredata://\(id)/Book/p+1",
      "x-coredata://\(id)/Book/p01", "x-coredata://\(id)/Book/p281474976710656", "x-coredata://\(id)/Book/t1",
      "x-coredata://\(id)/Book/p99999999999999999999", "x-coredata://\(id)/Book/p1/",
      "x-coredata://\(id)/Book",
      "x-coredata://\(id)//p1", "x-coredata:///Book/p1", "x-coredata://nouuid/Book/p1",
      "http://\(id)/Book/p1",
      "x-coredata://\(id)/Book/p1?x=1", "x-coredata://\(id)/Book/p1#f", "x-coredata://\(id)/%FF/p1",
      "x-coredata://user@\(id)/Book/p1", "x-coredata://\(id):80/Book/p1", "x-coredata:Book", "file:///", "p1",
      "x-coredata://\(id)/" + String(repeating: "B", count: 10_000) + "/p1", "x-coredata://\(id)/Book/p١",
    ]
    for text in texts {
      if let url = URL(string: text) { #expect(ManagedObjectID.parse(uri: url) == nil, "\(text)") }
    }
  }

  @Test("50,000 mutated URIs never trap")
  func mutatedURIsNeverTrap() {
    var random = ValueGenerator.printed()
    let good = Array("x-coredata://\(store.uuidString)/Book/p42".utf8)
    for _ in 0..<50_000 {
      var bytes = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 32...126, using: &random)
      }
      guard let url = URL(string: String(decoding: bytes, as: UTF8.self)),
        let parts = ManagedObjectID.parse(uri: url)
      else { continue }
      #expect(parts.primaryKey < 1 << 48 && !parts.entityName.isEmpty)
    }
  }
}
