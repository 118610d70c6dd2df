import CoreData
import Testing

/// To-many relationships of faults (rules 41, 48).
@Suite("To-many relationships of faults by Apple's names")
struct MemberFaultTests {
  private let stand: CompanyStand
  private let context: NSManagedObjectContext

  init() throws {
    stand = try CompanyStand()
    context = try stand.stocked()
  }

  @Test("rule 41: whoever reads or changes a to-many relationship of a fault fires it")
  func firing() throws {
    let (sales, dora) = (try context.department("Sales"), try context.employee("Dora"))
    let uses: [(String, (NSManagedObject) -> Void)] = [
      ("value", { _ = $0.value(forKey: "staff") }),
      ("ordered value", { _ = $0.value(forKey: "projects") }),
      ("key path", { _ = $0.value(forKeyPath: "staff.@count") }),
      ("dictionary", { _ = $0.dictionaryWithValues(forKeys: ["staff"]) }),
      ("predicate", { _ = NSPredicate(format: "staff.@count > 0").evaluate(with: $0) }),
      ("count of a set", { _ = $0.mutableSetValue(forKey: "staff").count }),
      ("member of a set", { _ = $0.mutableSetValue(forKey: "staff").contains(dora) }),
      ("ordered set", { _ = $0.mutableOrderedSetValue(forKey: "projects").count }),
      ("adding", { $0.mutableSetValue(forKey: "staff").add(dora) }),
      ("removing", { $0.mutableSetValue(forKey: "staff").remove(dora) }),
      ("setting", { $0.setValue(NSSet(object: dora), forKey: "staff") }),
    ]
    for (name, use) in uses {
      context.refresh(sales, mergeChanges: false)
      #expect(sales.isFault, "\(name)")
      use(sales)
      #expect(!sales.isFault, "\(name)")
      context.rollback()
    }
  }

  @Test("rule 41: a set that is older than the fault fires it; being told of the fault does not")
  func heldSets() throws {
    let sales = try context.department("Sales")
    let (staff, projects) = (
      sales.mutableSetValue(forKey: "staff"), sales.mutableOrderedSetValue(forKey: "projects")
    )
    #expect(staff.count == 2 && projects.count == 0)
    context.refresh(sales, mergeChanges: false)
    context.processPendingChanges()
    #expect(sales.isFault)
    #expect(staff.count == 2 && !sales.isFault)
    context.refresh(sales, mergeChanges: false)
    #expect(sales.isFault)
    #expect(projects.count == 0 && !sales.isFault)
  }

  @Test("rules 42, 69: asking whether members are loaded, for their IDs or for a description fires nothing")
  func silence() throws {
    let sales = try context.department("Sales")
    context.refresh(sales, mergeChanges: false)
    _ = sales.hasFault(forRelationshipNamed: "staff")
    #expect(sales.objectIDs(forRelationshipNamed: "staff").count == 2)
    _ = sales.primitiveValue(forKey: "staff")
    _ = "\(sales)"
    #expect(sales.isFault)
  }

  @Test("rule 48: asking for the members of a record that is gone makes the object a deleted one")
  func goneRecords() throws {
    let there = stand.context()
    let anna = try context.employee("Anna")
    context.refresh(anna, mergeChanges: false)
    there.delete(try there.employee("Anna"))
    try there.save()
    #expect((anna.value(forKey: "chores") as? NSSet)?.count == 0)
    #expect(anna.isDeleted && !anna.isFault && context.deletedObjects == [anna])
    #expect(anna.name == nil)
    try context.save()
    #expect(anna.managedObjectContext == nil && !context.hasChanges)
  }
}
