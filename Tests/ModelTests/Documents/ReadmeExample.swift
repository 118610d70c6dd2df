import Foundation
import StrataModels

@Managed final class Recipe: ManagedObject {
  @Unique var name: String
  var minutes = 30
  var keywords: [String] = []
  @Indexed var tried: Date?
  @Relationship(inverse: \Recipe.sideDishes) var mainDish: Recipe?
  @Relationship var sideDishes: Set<Recipe>
}

@MainActor func quickRecipes(storedAt url: URL) async throws -> [String] {
  let kitchen = try await PersistentContainer(for: Recipe.self, at: url)
  let context = kitchen.viewContext
  // What changes from here on, here and elsewhere: the IDs of records, event by event.
  var changes = context.changes().makeAsyncIterator()
  let omelette = Recipe(context: context)
  omelette.name = "Omelette"
  omelette.minutes = 10
  try context.save()
  let change = await changes.next()
  assert(change?.inserted == [omelette.objectID])
  return try context.fetch(Recipe.self, where: #Predicate { $0.minutes < 20 }, sortedBy: \.name).map(\.name)
}
