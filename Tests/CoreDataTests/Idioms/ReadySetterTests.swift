import CoreData
import StrataCore
import Testing

// As the plugin writes them, and outside of functions: the macros of tests take no values that cannot be copied.
nonisolated private let name = NSManagedAccessor("name")
nonisolated private let tally = NSManagedAccessor("tally")
nonisolated private let weight = NSManagedAccessor("weight")
nonisolated private let seenAt = NSManagedAccessor("seenAt")
nonisolated private let isRare = NSManagedAccessor("isRare")
nonisolated private let tallyReference = PropertyReference("tally")

private func putReady(_ value: Int64, _ bird: Bird) -> Bool { tallyReference.putReady(value, in: bird) }
private func putOthers(_ bird: Bird) -> [Bool] {
  [
    tallyReference.putReady(Int32(7), in: bird), tallyReference.putReady(Int16(7), in: bird),
    tallyReference.putReady(7.0, in: bird), tallyReference.putReady(Float(7), in: bird),
    tallyReference.putReady("7", in: bird), tallyReference.putReady(true, in: bird),
    tallyReference.putReady(Date(), in: bird),
  ]
}

/// Setters of `@NSManaged` properties, which store a value at once in an object that has been edited in this event.
@Suite("Ready setters")
struct ReadySetterTests {
  @Test("They store only in an object that is being edited, and only values of the model's type")
  func conditions() throws {
    let context = try BirdStand().stocked()
    let bird = try context.fetch(Bird.fetchRequest())[0]
    #expect(!putReady(70, bird))
    let slot = tallyReference.slot(in: bird)
    #expect(slot >= 0)
    // Known now, and not edited yet: setting it must be noticed.
    #expect(!putReady(70, bird) && bird.tally != 70 && !bird.hasChanges)
    bird.tally = 1
    #expect(putReady(70, bird) && bird.tally == 70)
    #expect(!putOthers(bird).contains(true) && bird.tally == 70)
    for round in 0..<2 {
      name.set("wren \(round)", of: bird)
      weight.set(Float(round) + 0.5, of: bird)
      seenAt.set(Date(timeIntervalSinceReferenceDate: Double(round)), of: bird)
      isRare.set(round == 0, of: bird)
      #expect(bird.name == "wren \(round)" && bird.weight == Float(round) + 0.5)
      #expect(bird.value(forKey: "seenAt") as? Date == Date(timeIntervalSinceReferenceDate: Double(round)))
      #expect(bird.value(forKey: "isRare") as? Bool == (round == 0))
    }
    name.set(nil as String?, of: bird)
    seenAt.set(nil as Date?, of: bird)
    #expect(bird.name == nil && bird.value(forKey: "seenAt") == nil)
    // Another type than the model's goes the long way.
    tally.set(Int16(12), of: bird)
    #expect(bird.tally == 12)
    try context.save()
    context.refresh(bird, mergeChanges: false)
    #expect(bird.tally == 12 && bird.weight == 1.5 && bird.name == nil)
  }

  @Test("What they store is undone, rolled back, validated and told, as with any other setter")
  func tracking() throws {
    let context = try BirdStand().stocked()
    context.undoManager = UndoManager()
    let bird = try context.fetch(Bird.fetchRequest())[0]
    let before = bird.tally
    tally.set(Int64(101), of: bird)
    tally.set(Int64(102), of: bird)
    #expect(bird.changedValues()["tally"] as? Int64 == 102)
    context.processPendingChanges()
    // A new event: the first edit of it is noticed again.
    tally.set(Int64(103), of: bird)
    context.processPendingChanges()
    context.undo()
    #expect(bird.tally == 102)
    context.undo()
    #expect(bird.tally == before)
    context.redo()
    #expect(bird.tally == 102)
    context.rollback()
    #expect(bird.tally == before && !bird.hasChanges)
    tally.set(Int64(104), of: bird)
    #expect(bird.hasChanges && bird.tally == 104)
  }

  @Test("One class in two models, whose slots lie elsewhere: each object is written in its own slot")
  func models() throws {
    let one = try BirdStand().stocked()
    let other = try BirdStand { model in
      let bird = try #require(model.entitiesByName["Bird"])
      let extra = NSAttributeDescription()
      extra.name = "aaa"
      extra.attributeType = .integer64AttributeType
      extra.isOptional = true
      bird.properties = [extra] + bird.properties
    }.stocked()
    let birds = [try one.fetch(Bird.fetchRequest())[0], try other.fetch(Bird.fetchRequest())[0]]
    for round in 0..<4 {
      for (place, bird) in birds.enumerated() { tally.set(Int64(round * 2 + place), of: bird) }
      #expect(birds.map(\.tally) == [Int64(round * 2), Int64(round * 2 + 1)])
    }
    #expect(birds[1].value(forKey: "aaa") == nil)
  }
}
