import ArgumentParser
import Foundation
import StrataCore

/// A copy back in its place.
struct Restore: StoreTask {
  static let configuration = CommandConfiguration(
    abstract: "Puts a copy of a store in the place of a store that nobody uses.",
    discussion: """
      The copy is checked first and stays what it is. A file that a migration has kept, “Name.strata-before-1”, takes the migration back. A store that is \
      there is gone afterwards, whatever state it is in: “strata backup” it first if it may still be wanted.
      """)

  @Argument(help: "The copy: a store's file, such as “strata backup” has written.", completion: .file())
  var copy: String
  @Argument(help: "The store's file, which may be missing. Nobody may have it open.", completion: .file())
  var store: String
  @Flag(help: "As JSON.") var json = false
  var subject: String? { store }

  func perform() throws {
    let source = StorePath.resolved(copy)
    let line = ProgressLine()
    defer { line.end() }
    line.show("checking the copy …")
    do {
      try LMDBStore.inspect(at: source)
      let opened = try StorePath.open(copy)
      defer { opened.close() }
      let check = try opened.check()
      if !check.isSound {
        throw Failure(
          .damaged,
          "The copy has \(Words.counted(check.problems.count, "problem")), and was not put anywhere.",
          advice: Failure.damageAdvice(copy))
      }
    } catch {
      throw Failure(error, store: copy)
    }
    line.show("copying …")
    try LMDBStore.replace(at: StorePath.resolved(store), with: source)
    line.end()
    if json {
      try Output.current.json(["store": .string(store), "copy": .string(copy)])
    } else {
      try Output.current.line("\(store) is what \(copy) is.")
    }
  }
}
