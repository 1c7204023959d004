"""Files and packages that Python functions need where they run."""

from __future__ import annotations

from penstock.datastream.settings.job_settings import JobSettings
from penstock.table.environment.session import Session

_KEYS = ("python.files", "python.archives", "python.requirements")


class PythonDependencies:
    """The methods of a table environment that ship files. They are those of a DataStream environment."""

    session: Session

    def add_python_file(self, file_path: str) -> None:
        """Ships a Python module, a package folder or a zip file to where functions run."""
        settings = self._settings()
        settings.add_python_file(file_path)
        self._keep(settings)

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Installs the packages of a requirements file where functions run, possibly from a folder of downloaded packages."""
        settings = self._settings()
        settings.set_python_requirements(requirements_file_path, requirements_cache_dir)
        self._keep(settings)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Ships an archive to where functions run and extracts it to a folder named `target_dir`, or like the archive."""
        settings = self._settings()
        settings.add_python_archive(archive_path, target_dir)
        self._keep(settings)

    def _settings(self) -> JobSettings:
        """The DataStream environment of the program, or one with the settings of the session."""
        if self.session.stream_environment is not None:
            return self.session.stream_environment  # type: ignore[no-any-return]
        from penstock.datastream import StreamExecutionEnvironment

        return StreamExecutionEnvironment.get_execution_environment(self.session.config.job_configuration())

    def _keep(self, settings: JobSettings) -> None:
        """Keeps what was set for the jobs of the session, which get an environment of their own."""
        if settings is not self.session.stream_environment:
            values = settings.configuration.to_dict()
            for key in _KEYS:
                if values.get(key):
                    self.session.config.set(key, values[key])
