import Foundation
import PackagePlugin

/// Generates, for a target that uses Core Data's spelling: what `@NSManaged` promises, and the classes of models made with Xcode.
@main
struct CoreDataPlugin: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    guard let target = target as? SwiftSourceModuleTarget else { return [] }
    let folder = context.pluginWorkDirectoryURL
    let output = folder.appending(path: "\(target.moduleName)+NSManaged.swift")
    let sources = target.sourceFiles(withSuffix: ".swift").map(\.url).sorted { $0.path < $1.path }
    var arguments = ["--module", target.moduleName, "--output", output.path]
    var inputs = sources
    var outputs = [output]
    for source in sources { arguments += ["--source", source.path] }
    for module in target.recursiveTargetDependencies.compactMap({ $0 as? SwiftSourceModuleTarget }) {
      arguments += ["--dependency", module.moduleName, module.directoryURL.path]
    }
    for model in models(in: target.directoryURL) {
      let classes = folder.appending(path: "\(model.deletingPathExtension().lastPathComponent)+Model.swift")
      arguments += ["--model", model.path, classes.path]
      inputs += files(in: model)
      outputs.append(classes)
    }
    // One file in the place of hundreds of arguments.
    let list = folder.appending(path: "arguments.txt")
    let text = Data(arguments.joined(separator: "\n").utf8)
    if (try? Data(contentsOf: list)) != text {
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      try text.write(to: list)
    }
    return [
      .buildCommand(
        displayName: "Generating Core Data accessors of \(target.moduleName)",
        executable: try context.tool(named: "NSManagedTool").url, arguments: [list.path],
        inputFiles: inputs + [list], outputFiles: outputs)
    ]
  }

  /// The models in the target's folder: those in an `.xcdatamodeld` are versions of one.
  private func models(in folder: URL) -> [URL] {
    guard let paths = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    var found: [URL] = []
    for case let path as String in paths {
      let url = folder.appending(path: path)
      if ["xcdatamodeld", "xcdatamodel"].contains(url.pathExtension) {
        found.append(url)
        paths.skipDescendants()
      } else if url.lastPathComponent.hasPrefix(".") {
        paths.skipDescendants()
      }
    }
    return found.sorted { $0.path < $1.path }
  }

  private func files(in folder: URL) -> [URL] {
    guard let paths = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    return paths.compactMap { $0 as? String }.sorted().map { folder.appending(path: $0) }.filter { !$0.hasDirectoryPath }
  }
}
