import Foundation
import Strata
import StrataBrowse
import StrataCommand
import Testing
import TortureKit
import struct StrataCore.Mutex

/// What others save is told as it comes.
@Suite struct LiveTests {
  @Test func savesOfAnotherProcessAreTold() throws {
    let library = try Library(books: 10, recordsHistory: true)
    let page = try Page(library)
    let client = page.client
    var commit = try #require(try client.object("begin")["commit"] as? Int)
    for round in 0..<3 {
      let after = commit
      let told = Mutex<Result<Answer, any Error>?>(nil)
      let thread = Thread {
        told.withLock { $0 = Result { try client.get("changes", ["after": String(after), "wait": "60"]) } }
      }
      thread.start()
      try library.edit { context in
        library.make("Book", ["title": "Live \(round)"], context)
        var request = FetchRequest<ManagedObject>(entityName: "Author")
        request.predicate = try FetchPredicate(format: "name == 'Ursula'")
        for author in try context.fetch(request) { author.setValue(1_000 + round, forKey: "born") }
      }
      // It ends when there is an answer, and not before something was saved.
      while !thread.isFinished { usleep(5_000) }
      let answer = try #require(try told.withLock { $0 }?.get())
      let change = try answer.object()
      commit = try #require(change["commit"] as? Int)
      #expect(commit > after && change["inserted"] as? [String] == ["Book/p\(11 + round)"], "\(answer)")
      #expect(change["updated"] as? [String] == ["Author/p1"], "\(answer)")
    }
    // Nothing new: it is said so when the time is over.
    let nothing = try client.object("changes", ["after": String(commit), "wait": "0"])
    #expect(nothing["commit"] as? Int == commit && nothing["inserted"] as? [String] == [])
    // Who knows nothing is told that everything may have changed, or what has.
    let all = try client.object("changes", ["after": "0", "wait": "0"])
    #expect(
      all["isUnknown"] as? Bool == true || (all["inserted"] as? [String])?.contains("Book/p13") == true,
      "\(all)")
  }

  @Test func aNewFileInItsPlaceIsOpened() throws {
    let library = try Library()
    try library.close()
    let other = try Library(books: 7)
    for year in 1...20 {
      try other.edit { context in
        for shelf in try context.fetch(FetchRequest<ManagedObject>(entityName: "Shelf")) {
          shelf.setValue("Room \(year)", forKey: "room")
        }
      }
    }
    try other.close()
    let page = try Page(library)
    #expect(try page.client.object("rows", ["entity": "Book"])["count"] as? Int == 3)
    let client = page.client
    let after = try #require(try client.object("begin")["commit"] as? Int)
    let told = Mutex<Result<Answer, any Error>?>(nil)
    let thread = Thread {
      told.withLock { $0 = Result { try client.get("changes", ["after": String(after), "wait": "60"]) } }
    }
    thread.start()
    #expect(rename(other.path, library.path) == 0)
    while !thread.isFinished { usleep(5_000) }
    let change = try #require(try told.withLock { $0 }?.get()).object()
    // Who begins to wait after it has happened is told of other commits.
    #expect(
      change["isReplaced"] as? Bool == true || change["commit"] as? Int ?? after > after, "\(change)")
    #expect(try page.client.object("rows", ["entity": "Book"])["count"] as? Int == 7)
    #expect(unlink(library.path) == 0)
    let gone = try page.client.get("rows", ["entity": "Book"])
    #expect(gone.status == 404 && gone.text.contains("gone"), "\(gone)")
  }

  @Test func manyWhoWaitAreAnswered() throws {
    let library = try Library()
    let page = try Page(library)
    let commit = try #require(try page.client.object("begin")["commit"] as? Int)
    let count = Mutex(0)
    let threads = (0..<45).map { _ in
      Thread {
        let status = (try? page.client.get("changes", ["after": String(commit), "wait": "60"]))?.status
        count.withLock { $0 += status == 200 ? 1 : 0 }
      }
    }
    for thread in threads { thread.start() }
    // Beyond 32 the first get their answer early.
    while threads.count(where: \.isFinished) < 13 { usleep(5_000) }
    try library.edit { library.make("Book", ["title": "Another"], $0) }
    while !threads.allSatisfy(\.isFinished) { usleep(5_000) }
    #expect(count.withLock { $0 } == 45)
  }
}
