import ArgumentParser
import Foundation
import StoreInterposer
import Strata
import TortureKit

#if os(Linux)

  /// One of the processes that use a crowd's store at once. Says on standard output, line by line, each with one `write`:
  ///
  ///     open <n>         the store is open; a writer found n saves of its worker
  ///     save <n> <c>     save n returned, after c conflicts with others
  ///     busy             another process kept the store until the deadline; it is tried again
  ///     look <n>         a reader found n saves, and everything in order
  ///     done             the writer has made all its saves
  ///
  /// Anything else is a complaint.
  struct MemberCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "member", abstract: "Uses a store together with others.", shouldDisplay: false)

    @Argument var path: String
    @Option(help: "Writes as this worker.") var worker: Int?
    @Option(help: "Writes until there are so many saves.") var until = 0
    @Option(help: "How long a save waits for others, in milliseconds.") var patience = 300
    @Option(help: "Bytes of address space at first.") var mapSize: Int?
    @Option(help: "Stops the process at its n-th call that puts a commit on the disk.") var stopAt: Int?
    @Option(help: "Waits for a line after every n-th save.") var turn: Int?
    @Flag(help: "Opens the store for reading only.") var readOnly = false

    func run() throws {
      Parentage.endWithParent()
      do {
        if let worker { try write(worker) } else { try read() }
      } catch {
        Worker.say("error \(error)")
        throw ExitCode.failure
      }
    }

    private func open() throws -> PersistentContainer {
      try patiently {
        try Crowd.open(path, isReadOnly: readOnly, timeout: .milliseconds(patience), mapSize: mapSize)
      }
    }

    /// Repeats it as long as another process keeps the store.
    private func patiently<R>(_ body: () throws -> R) throws -> R {
      while true {
        do {
          return try body()
        } catch let error as StorageError where error.kind == .busy {
          Worker.say("busy")
        }
      }
    }

    // MARK: Reading

    private func read() throws {
      let container = try open()
      Worker.say("open 0")
      var last = 0
      while true {
        // Contexts of their own and one that is emptied must see the same.
        let context = container.newBackgroundContext()
        for _ in 0..<5 {
          let state = try context.performAndWait {
            context.reset()
            return try CrowdState(reading: context, whileOthersWrite: true)
          }
          guard state.total >= last else {
            throw TortureViolation("there were \(last) saves, now there are \(state.total)")
          }
          last = state.total
          Worker.say("look \(last)")
          usleep(10_000)
        }
      }
    }

    // MARK: Writing

    private func write(_ worker: Int) throws {
      si_watch(path)
      let container = try open()
      let context = container.newBackgroundContext()
      var last = try context.performAndWait {
        try context.fetch(
          FetchRequest<Fact>(
            entityName: "Fact",
            predicate: Attribute("kind") == Int(Fact.Kind.note.rawValue) && Attribute("owner") == worker)
        ).map(\.number).max() ?? 0
      }
      Worker.say("open \(last)")
      if let stopAt {
        si_arm(UInt32(SI_FDATASYNC | SI_PWRITE | SI_WRITEV), Int64(stopAt), UInt32(SI_STOP), 0)
      }
      while last < until {
        let save = CrowdSave(worker: worker, number: last + 1)
        let conflicts = try context.performAndWait { try make(save, context) }
        last += 1
        Worker.say("save \(last) \(conflicts)")
        if let turn, last % turn == 0 {
          var byte: UInt8 = 0
          guard Glibc.read(STDOUT_FILENO, &byte, 1) == 1 else { return }
        }
        // Objects are held from one save to the next, or fetched again.
        if last % 7 == 0 { context.performAndWait { context.reset() } }
      }
      for store in container.persistentStoreCoordinator.persistentStores {
        try container.persistentStoreCoordinator.remove(store)
      }
      Worker.say("done")
    }

    /// Makes the save, and repeats it as long as another process was faster. Returns how often one was.
    private func make(_ save: CrowdSave, _ context: ManagedObjectContext) throws -> Int {
      var conflicts = 0
      while true {
        var facts: [Fact] = []
        for subject in save.subjects {
          let (counter, history) = try (find(.counter, subject, context), find(.history, subject, context))
          counter.number += 1
          history.text = (history.text ?? "") + save.entry
          facts += [counter, history]
        }
        let note = Fact(context: context)
        note.kind = .note
        note.owner = save.worker
        note.number = save.number
        note.text = save.text
        do {
          try patiently {
            guard context.hasChanges, context.insertedObjects.count == 1 else {
              throw TortureViolation("a save that was refused as busy has taken changes from its context")
            }
            try context.save()
          }
          return conflicts
        } catch let error as CoreDataError where error.code == .managedObjectMerge {
          conflicts += 1
          context.rollback()
          for fact in facts { context.refresh(fact, mergeChanges: false) }
        }
      }
    }

    private func find(_ kind: Fact.Kind, _ owner: Int, _ context: ManagedObjectContext) throws -> Fact {
      let predicate = Attribute("kind") == Int(kind.rawValue) && Attribute("owner") == owner
      let found = try context.fetch(FetchRequest<Fact>(entityName: "Fact", predicate: predicate))
      guard found.count == 1 else { throw TortureViolation("\(found.count) times \(kind) \(owner)") }
      return found[0]
    }
  }

#endif
