import SwiftData
import Testing
import struct StrataCore.Mutex

/// Models that have something beside their rows.
enum Held {
  @Model final class Queue {
    var name: String
    @Relationship(deleteRule: .cascade, inverse: \Job.queue) var jobs: [Job] = []
    var next: Job?
    @Transient var isOpen = false
    init(_ name: String) { self.name = name }
  }
  @Model final class Job {
    var name: String
    var queue: Queue?
    @Transient var progress = 0.0
    @Transient var onDone: (() -> Void)?
    init(_ name: String, progress: Double = 0) {
      self.name = name
      self.progress = progress
    }
  }

  static func makeContext() throws -> ModelContext {
    let context = ModelContext(
      try ModelContainer(for: Queue.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true)))
    context.autosaveEnabled = false
    return context
  }
}

/// What an instance has beside its row is there as long as Core Data would keep the object.
@Suite("Which instances a context keeps")
struct HeldInstanceTests {
  private final class Known {
    weak var job: Held.Job?
    var calls = 0
  }

  @Test("a new model that nobody holds has its transient values until it is saved, and is freed then")
  func inserted() throws {
    let context = try Held.makeContext()
    let known = Known()
    func insert() {
      let job = Held.Job("a", progress: 0.5)
      job.onDone = { known.calls += 1 }
      context.insert(job)
      known.job = job
    }
    func look() throws {
      let found = try #require(try context.fetch(FetchDescriptor<Held.Job>()).first)
      #expect(found.progress == 0.5)
      found.onDone?()
      #expect((context.insertedModelsArray.first as? Held.Job)?.progress == 0.5)
    }
    insert()
    try look()
    #expect(known.calls == 1)
    #expect(known.job != nil)
    try context.save()
    #expect(known.job == nil)
  }

  @Test(
    "a changed and a deleted model are kept until the save, by rollback no longer", arguments: [false, true])
  func changed(isRolledBack: Bool) throws {
    let context = try Held.makeContext()
    context.insert(Held.Job("a"))
    try context.save()
    let known = Known()
    func fetched() throws -> Held.Job { try #require(try context.fetch(FetchDescriptor<Held.Job>()).first) }
    func end() throws { if isRolledBack { context.rollback() } else { try context.save() } }
    func edit() throws {
      let job = try fetched()
      job.name = "b"
      job.progress = 0.9
      known.job = job
    }
    try edit()
    #expect(try fetched().progress == 0.9)
    #expect((context.changedModelsArray.first as? Held.Job)?.progress == 0.9)
    try end()
    #expect(known.job == nil)
    func delete() throws {
      let job = try fetched()
      job.progress = 0.8
      context.delete(job)
      known.job = job
    }
    try delete()
    #expect((context.deletedModelsArray.first as? Held.Job)?.progress == 0.8)
    try end()
    #expect(known.job == nil)
  }

  @Test("a model that a relationship was given, or led to, is kept with its owner")
  func members() throws {
    let context = try Held.makeContext()
    let known = Known()
    func enqueue(in queue: Held.Queue) {
      queue.jobs.append(Held.Job("a", progress: 0.5))
      queue.next = Held.Job("b", progress: 0.25)
    }
    func work() throws {
      let queue = Held.Queue("q")
      context.insert(queue)
      enqueue(in: queue)
      #expect(queue.jobs.first?.progress == 0.5 && queue.next?.progress == 0.25)
      try context.save()
      #expect(queue.jobs.first?.progress == 0.5 && queue.next?.progress == 0.25)
      queue.jobs.first?.progress = 0.7
      #expect(queue.jobs.first?.progress == 0.7)
      known.job = queue.jobs.first
    }
    try work()
    // The next save looks for those that can go.
    context.insert(Held.Queue("another"))
    try context.save()
    #expect(known.job == nil)
  }

  @Test("instances that keep each other's rows go together")
  func cycles() throws {
    let context = try Held.makeContext()
    let known = Known()
    func work() throws {
      let queue = Held.Queue("q")
      context.insert(queue)
      queue.jobs = [Held.Job("a")]
      try context.save()
      known.job = queue.jobs.first
      #expect(known.job?.queue === queue)
    }
    try work()
    context.insert(Held.Queue("another"))
    try context.save()
    #expect(known.job == nil)
  }

  @Test("what a draft's members have stays when the draft is inserted")
  func drafts() throws {
    let context = try Held.makeContext()
    func makeQueue() -> Held.Queue {
      let queue = Held.Queue("q")
      queue.jobs = [Held.Job("a", progress: 0.5)]
      queue.next = Held.Job("b", progress: 0.25)
      return queue
    }
    let queue = makeQueue()
    context.insert(queue)
    #expect(queue.jobs.first?.progress == 0.5 && queue.next?.progress == 0.25)
    try context.save()
    #expect(queue.jobs.first?.progress == 0.5 && queue.next?.progress == 0.25)
  }

  @Test(
    "who has observed a member of a draft is told when it is changed behind the insertion",
    arguments: [false, true])
  func observers(isSaved: Bool) throws {
    let context = ModelContext(try makeContainer())
    let shelf = Shelf("A")
    shelf.items = [Item("Box")]
    let told = Mutex(0)
    withObservationTracking {
      _ = shelf.items.first?.name
    } onChange: {
      told.withLock { $0 += 1 }
    }
    context.insert(shelf)
    if isSaved { try context.save() }
    #expect(told.withLock { $0 } == 0)
    shelf.items.first?.name = "Crate"
    #expect(told.withLock { $0 } == 1)
  }

  @Test("a context that ends lets go of its instances")
  func contextEnds() throws {
    let known = Known()
    func work() throws {
      let context = try Held.makeContext()
      let queue = Held.Queue("q")
      context.insert(queue)
      queue.jobs = [Held.Job("a")]
      try context.save()
      context.insert(Held.Job("b"))
      known.job = queue.jobs.first
    }
    try work()
    #expect(known.job == nil)
  }

  @Test("many unsaved models are freed by the save, those that are held stay who they are")
  func many() throws {
    let context = try Held.makeContext()
    let jobs = (0..<10).map { Held.Job("\($0)", progress: Double($0)) }
    for (number, job) in jobs.enumerated() {
      context.insert(job)
      for _ in 0..<100 { context.insert(Held.Job("\(number)")) }
    }
    try context.save()
    let byName = try context.fetch(FetchDescriptor<Held.Job>()).filter { $0.progress > 0 }
    #expect(Set(byName.map { ObjectIdentifier($0) }) == Set(jobs.dropFirst().map { ObjectIdentifier($0) }))
  }
}
