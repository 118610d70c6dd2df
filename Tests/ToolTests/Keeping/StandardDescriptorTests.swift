import Foundation
import Strata
import Testing
import TortureKit

/// A process may run with its standard descriptors closed, as daemons do. Then the store must not become what messages are written to.
@Suite struct StandardDescriptorTests {
  @Test(
    "a process whose standard descriptors are closed reads and writes stores, and its messages do not end up in them",
    arguments: ["<&- >&- 2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-"])
  func closed(_ redirections: String) throws {
    let stand = try Stand.people()
    let before = Tool.run("dump", stand.path).output
    let shell = ["/bin/sh", "-c", "\"$0\" \"$@\" \(redirections)"]
    let dumped = try Tool.spawn(["dump", stand.path], prefix: shell)
    #expect(dumped.code == 0, "\(dumped)")
    let dump = stand.folder("people.jsonl")
    try Data(before.utf8).write(to: URL(fileURLWithPath: dump))
    // Messages of progress, errors and the answer go nowhere.
    let copy = stand.folder("copy.strata")
    #expect(try Tool.spawn(["load", dump, copy], prefix: shell).code == 0)
    #expect(try Tool.spawn(["load", dump, copy], prefix: shell).code == 10)
    for path in [stand.path, copy] {
      #expect(Tool.run("check", path).code == 0)
      let lines = Tool.run("dump", path).output.split(separator: "\n").count
      #expect(lines == before.split(separator: "\n").count)
      let lock = try Data(contentsOf: URL(fileURLWithPath: path + "-lock"))
      #expect(lock.range(of: Data("entit".utf8)) == nil && lock.range(of: Data("strata".utf8)) == nil)
    }
  }
}
